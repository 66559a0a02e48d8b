<?php
/**
 * Sends past orders and their refunds in batches, with Action Scheduler.
 *
 * The position is stored after each batch, so an interrupted backfill continues where it was. Events are
 * the same as the hooks send, so an order that was already reported counts once.
 *
 * @package Headwater
 */

use Automattic\WooCommerce\Utilities\OrderUtil;

defined( 'ABSPATH' ) || exit;

/**
 * Sends past orders.
 */
class Headwater_Backfill {

	const HOOK   = 'headwater_backfill';
	const OPTION = 'headwater_backfill';
	const ORDERS = 50;
	// The API takes at most 1,000 events in a batch.
	const EVENTS = 500;

	public static function register() {
		add_action( self::HOOK, array( __CLASS__, 'send_batch' ) );
		add_action( 'admin_post_' . self::HOOK, array( __CLASS__, 'take_step' ) );
	}

	/**
	 * Returns how far the backfill is. `state` is '', running, paused or done.
	 */
	public static function progress() {
		$empty  = array(
			'state'   => '',
			'last_id' => 0,
			'orders'  => 0,
			'total'   => 0,
			'sent'    => 0,
			'refused' => 0,
			'problem' => '',
		);
		$stored = get_option( self::OPTION, array() );
		return array_merge( $empty, is_array( $stored ) ? array_intersect_key( $stored, $empty ) : array() );
	}

	/**
	 * Handles the button of the settings page.
	 */
	public static function take_step() {
		if ( ! current_user_can( Headwater_Settings_Page::CAPABILITY ) ) {
			wp_die( esc_html__( 'You are not allowed to do this.', 'headwater-for-woocommerce' ), '', array( 'response' => 403 ) );
		}
		check_admin_referer( self::HOOK );
		$step = isset( $_POST['step'] ) ? sanitize_key( wp_unslash( $_POST['step'] ) ) : '';
		if ( 'start' === $step ) {
			delete_option( self::OPTION );
		}
		if ( 'pause' === $step ) {
			self::pause();
		} elseif ( in_array( $step, array( 'start', 'continue' ), true ) ) {
			self::run();
		}
		wp_safe_redirect( admin_url( 'admin.php?page=' . Headwater_Settings_Page::SLUG ) );
		exit;
	}

	public static function run() {
		$progress            = self::progress();
		$progress['state']   = 'running';
		$progress['problem'] = '';
		$progress['total']   = $progress['orders'] + self::count_orders( $progress['last_id'] );
		self::store( $progress );
		as_unschedule_all_actions( self::HOOK );
		self::schedule( 0, 1 );
	}

	public static function pause() {
		self::store( array( 'state' => 'paused' ) + self::progress() );
		as_unschedule_all_actions( self::HOOK );
	}

	public static function send_batch( $attempt ) {
		$progress = self::progress();
		if ( 'running' !== $progress['state'] ) {
			return;
		}
		$order_ids = self::find_orders( $progress['last_id'] );
		if ( ! $order_ids ) {
			self::store( array( 'state' => 'done' ) + $progress );
			return;
		}
		list( $failure, $sent, $refused ) = self::send_orders( self::load_orders( $order_ids ) );
		if ( $failure ) {
			self::retry( $attempt, $failure );
			return;
		}
		$progress['last_id']  = end( $order_ids );
		$progress['orders']  += count( $order_ids );
		$progress['sent']    += $sent;
		$progress['refused'] += $refused;
		// It may have been paused meanwhile.
		self::store( array( 'state' => self::progress()['state'] ) + $progress );
		self::schedule( 0, 1 );
	}

	private static function retry( $attempt, $answer ) {
		/* translators: 1: an HTTP status. 2: the reason. */
		$problem  = sprintf( __( 'The last batch failed (status %1$d) and will be sent again: %2$s', 'headwater-for-woocommerce' ), $answer['status'], $answer['reason'] );
		$progress = array( 'problem' => $problem ) + self::progress();
		if ( $attempt >= Headwater_Reports::MAX_ATTEMPTS ) {
			self::store( array( 'state' => 'paused' ) + $progress );
			return;
		}
		self::store( $progress );
		self::schedule( Headwater_Client::pause_after( $attempt, $answer ), $attempt + 1 );
	}

	/**
	 * Sends the events of orders. Returns the failed answer or null, and how many were sent and refused.
	 */
	private static function send_orders( $orders ) {
		$events = array();
		foreach ( $orders as $order ) {
			$events = array_merge( $events, self::describe_order( $order ) );
		}
		$sent    = 0;
		$refused = 0;
		foreach ( array_chunk( $events, self::EVENTS ) as $chunk ) {
			$answer = Headwater_Client::request( 'POST', '/events/batch', array( 'events' => $chunk ) );
			// 422 means that all events are invalid; each has its result.
			if ( ! isset( $answer['content']['results'] ) || ! in_array( $answer['status'], array( 202, 422 ), true ) ) {
				return array( $answer, 0, 0 );
			}
			$queued   = count( wp_list_filter( $answer['content']['results'], array( 'status' => 'queued' ) ) );
			$sent    += $queued;
			$refused += count( $chunk ) - $queued;
		}
		foreach ( $orders as $order ) {
			Headwater_Orders::mark_reported( $order );
			// Corrects a cancellation that was reported earlier.
			Headwater_Orders::report_payment( $order->get_id() );
		}
		return array( null, $sent, $refused );
	}

	private static function load_orders( $order_ids ) {
		$orders = array();
		foreach ( $order_ids as $order_id ) {
			$order = wc_get_order( $order_id );
			if ( $order && ! Headwater_Events::is_test( $order ) ) {
				$orders[] = $order;
			}
		}
		return $orders;
	}

	private static function describe_order( $order ) {
		$events = array( Headwater_Events::describe_purchase( $order ) );
		foreach ( $order->get_refunds() as $refund ) {
			$events[] = Headwater_Events::describe_refund( $order, $refund->get_id() );
		}
		return array_filter( $events );
	}

	private static function find_orders( $last_id ) {
		global $wpdb;
		// phpcs:ignore WordPress.DB.DirectDatabaseQuery, WordPress.DB.PreparedSQL -- prepared in from_paid_orders().
		return array_map( 'intval', $wpdb->get_col( 'SELECT id ' . self::from_paid_orders( $last_id ) . ' ORDER BY id LIMIT ' . self::ORDERS ) );
	}

	private static function count_orders( $last_id ) {
		global $wpdb;
		// phpcs:ignore WordPress.DB.DirectDatabaseQuery, WordPress.DB.PreparedSQL -- prepared in from_paid_orders().
		return (int) $wpdb->get_var( 'SELECT COUNT(*) ' . self::from_paid_orders( $last_id ) );
	}

	/**
	 * Returns the SQL for paid and refunded orders after an id. WooCommerce's own queries can start at
	 * an id only in one of its two kinds of storage.
	 */
	private static function from_paid_orders( $last_id ) {
		global $wpdb;
		$table    = OrderUtil::get_table_for_orders();
		$prefix   = $wpdb->posts === $table ? 'post_' : '';
		$statuses = array();
		foreach ( array_merge( wc_get_is_paid_statuses(), array( 'refunded' ) ) as $status ) {
			$statuses[] = 'wc-' . $status;
		}
		$places = implode( ', ', array_fill( 0, count( $statuses ), '%s' ) );
		return $wpdb->prepare( // phpcs:ignore WordPress.DB.PreparedSQLPlaceholders -- a %s for each status.
			"FROM %i WHERE %i = 'shop_order' AND %i IN ($places) AND id > %d", // phpcs:ignore WordPress.DB.PreparedSQL, WordPress.DB.PreparedSQLPlaceholders
			array_merge( array( $table, $prefix . 'type', $prefix . 'status' ), $statuses, array( $last_id ) )
		);
	}

	private static function store( $progress ) {
		update_option( self::OPTION, $progress, false );
	}

	private static function schedule( $pause, $attempt ) {
		as_schedule_single_action( time() + $pause, self::HOOK, array( $attempt ), Headwater_Reports::GROUP );
	}
}
