<?php
/**
 * As much of WooCommerce and Action Scheduler as the plugin calls, in memory: orders, and a queue with a
 * clock of its own.
 */

namespace Automattic\WooCommerce\Utilities {
	class OrderUtil {
		public static function get_table_for_orders() {
			return $GLOBALS['wpdb']->posts;
		}
	}
}

namespace {

$GLOBALS['orders'] = array();
$GLOBALS['queue']  = array();
$GLOBALS['clock']  = 0;

// Action Scheduler.

function as_schedule_single_action( $time, $hook, $arguments, $group ) {
	$GLOBALS['queue'][] = array( $GLOBALS['clock'] + max( 0, $time - time() ), $hook, $arguments );
}

function as_unschedule_all_actions( $hook ) {
	$is_other         = function ( $action ) use ( $hook ) {
		return $action[1] !== $hook;
	};
	$GLOBALS['queue'] = array_values( array_filter( $GLOBALS['queue'], $is_other ) );
}

/** Does what is due up to a moment of the queue's clock, in order; the pauses that were planned. */
function run_queue( $until ) {
	$pauses = array();
	while ( $GLOBALS['queue'] ) {
		sort( $GLOBALS['queue'] );
		if ( $GLOBALS['queue'][0][0] > $until ) {
			break;
		}
		list( $time, $hook, $arguments ) = array_shift( $GLOBALS['queue'] );
		$GLOBALS['clock']                = $time;
		do_action( $hook, ...$arguments );
		$last     = end( $GLOBALS['queue'] );
		$pauses[] = $last ? $last[0] - $time : null;
	}
	return $pauses;
}

// WooCommerce.

class Moment {
	private $seconds;

	public function __construct( $seconds ) {
		$this->seconds = $seconds;
	}

	public function getTimestamp() {
		return $this->seconds;
	}
}

class Meta {
	private $key;
	private $value;

	public function __construct( $key, $value ) {
		$this->key   = $key;
		$this->value = $value;
	}

	public function get_data() {
		return array(
			'key'   => $this->key,
			'value' => $this->value,
		);
	}
}

/** An order or a refund; get_x() reads what it was made with. */
class Order {
	public $notes = array();
	private $data;
	private $meta = array();
	private $unsaved;

	public function __construct( $data ) {
		$this->data    = $data + array(
			'type'   => 'shop_order',
			'status' => 'pending',
		);
		$this->unsaved = array();
		$this->meta    = $data['meta'] ?? array();

		$GLOBALS['orders'][ $data['id'] ] = $this;
		$this->store();
	}

	/** Keeps the row that the backfill looks for. */
	private function store() {
		$row = array(
			'ID'          => $this->data['id'],
			'post_type'   => $this->data['type'],
			'post_status' => 'wc-' . $this->data['status'],
		);
		$GLOBALS['wpdb']->replace( $GLOBALS['wpdb']->posts, $row );
	}

	public function __call( $name, $arguments ) {
		$value = $this->data[ substr( $name, 4 ) ] ?? '';
		return false !== strpos( $name, 'get_date' ) ? ( $value ? new Moment( $value ) : null ) : $value;
	}

	public function set_status( $status ) {
		$this->data['status'] = $status;
		$this->store();
	}

	public function has_status( $statuses ) {
		return in_array( $this->data['status'], $statuses, true );
	}

	public function is_paid() {
		return $this->has_status( wc_get_is_paid_statuses() );
	}

	public function get_refunds() {
		$order_id = $this->data['id'];
		return array_filter(
			$GLOBALS['orders'],
			function ( $order ) use ( $order_id ) {
				return $order->get_parent_id() === $order_id;
			}
		);
	}

	public function get_meta( $name ) {
		return $this->meta[ $name ] ?? '';
	}

	public function get_meta_data() {
		return array_map(
			function ( $key, $value ) {
				return new Meta( $key, $value );
			},
			array_keys( $this->meta ),
			$this->meta
		);
	}

	public function update_meta_data( $name, $value ) {
		$this->unsaved[ $name ] = $value;
	}

	public function delete_meta_data( $name ) {
		unset( $this->meta[ $name ] );
	}

	public function save_meta_data() {
		$this->meta    = array_merge( $this->meta, $this->unsaved );
		$this->unsaved = array();
	}

	public function add_order_note( $note ) {
		$this->notes[] = $note;
	}
}

function wc_get_order( $id ) {
	return $GLOBALS['orders'][ $id ] ?? false;
}

function wc_get_is_paid_statuses() {
	return array( 'processing', 'completed', 'packed' );
}

function wc_get_orders( $query ) {
	$is_wanted = function ( $order ) use ( $query ) {
		return in_array( $order->get_billing_email(), $query['customer'], true );
	};
	return array_slice( array_values( array_filter( $GLOBALS['orders'], $is_wanted ) ), ( $query['page'] - 1 ) * $query['limit'], $query['limit'] );
}

}
