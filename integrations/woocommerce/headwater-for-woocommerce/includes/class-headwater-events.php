<?php
/**
 * Describes orders and refunds as events of Headwater's API.
 *
 * Events have ids of our own, so that an event sent twice counts once.
 *
 * @package Headwater
 */

defined( 'ABSPATH' ) || exit;

/**
 * Describes events.
 */
class Headwater_Events {

	const VISIT = array(
		'url'          => 'session_entry',
		'trk_source'   => 'utm_source',
		'trk_type'     => 'utm_medium',
		'trk_campaign' => 'utm_campaign',
		'trk_keyword'  => 'utm_term',
	);

	// Orders made by staff, a till or a subscription have no visit, also if they copied one's notes.
	const WITHOUT_VISIT = array( 'admin', 'subscription', 'pos', 'pos-rest-api' );

	// Metadata in which gateways note their mode.
	const GATEWAY_MODE = '/^(_wcpay_mode|_ppcp_paypal_payment_mode|_mollie_payment_mode|_wc_[a-z0-9_]+_environment)$/';
	const TEST_MODES   = array( 'test', 'sandbox', 'testing', 'development' );

	// The number of the refund that cancels an order. WooCommerce's own numbers start at 1.
	const CANCELLATION = 0;

	/**
	 * Returns the event of a paid order; null if the buyer is unknown or was erased. Erased buyers all have
	 * the same address.
	 */
	public static function describe_purchase( $order ) {
		if ( $order->get_meta( '_anonymized' ) ) {
			return null;
		}
		$paid = $order->get_date_paid() ? $order->get_date_paid() : $order->get_date_created();
		$user = (int) $order->get_customer_id();
		return self::complete(
			$order,
			self::describe_visit( $order ) + array(
				'event_time'      => $paid ? $paid->getTimestamp() : null,
				'amount'          => (float) $order->get_total(),
				'order_id'        => (string) $order->get_id(),
				'checkout_token'  => $order->get_order_key(),
				'tracking_id'     => $user ? (string) $user : null,
				'company_name'    => self::shorten( $order->get_billing_company(), 190 ),
				'user_agent'      => self::shorten( $order->get_customer_user_agent(), 2048 ),
				'idempotency_key' => self::key( 'purchase', $order->get_id() ),
			)
		);
	}

	/**
	 * Returns the event of a refund. Its amount is 0 if the refund was deleted.
	 */
	public static function describe_refund( $order, $refund_id ) {
		$refund = wc_get_order( $refund_id );
		$date   = $refund ? $refund->get_date_created() : null;
		$amount = $refund ? (float) $refund->get_amount() : 0.0;
		return self::describe_money_back( $order, $refund_id, $amount, $date ? $date->getTimestamp() : time() );
	}

	/**
	 * Returns the event that takes a cancelled order's money back; its amount is 0 if the order counts
	 * again.
	 */
	public static function describe_cancellation( $order, $is_void, $changed_at ) {
		return self::describe_money_back( $order, self::CANCELLATION, $is_void ? (float) $order->get_total() : 0.0, $changed_at );
	}

	/**
	 * Returns whether a gateway took the payment in its test mode.
	 */
	public static function is_test( $order ) {
		foreach ( $order->get_meta_data() as $meta ) {
			$note = $meta->get_data();
			if ( preg_match( self::GATEWAY_MODE, $note['key'] ) && is_string( $note['value'] ) && in_array( strtolower( $note['value'] ), self::TEST_MODES, true ) ) {
				return true;
			}
		}
		return false;
	}

	private static function describe_money_back( $order, $refund_id, $amount, $time ) {
		return self::complete(
			$order,
			array(
				'event_time'      => $time,
				'amount'          => -abs( $amount ),
				'idempotency_key' => self::key( 'order', $order->get_id() . ':refund:' . $refund_id ),
			)
		);
	}

	/**
	 * Adds what all events of an order share, and leaves out empty fields.
	 */
	private static function complete( $order, $event ) {
		$person = array(
			'email'      => self::shorten( $order->get_billing_email(), 254 ),
			'trk_token'  => (string) $order->get_meta( Headwater_Orders::TOKEN ),
			'first_name' => self::shorten( $order->get_billing_first_name(), 255 ),
			'last_name'  => self::shorten( $order->get_billing_last_name(), 255 ),
			'phone'      => self::shorten( $order->get_billing_phone(), 64 ),
		);
		if ( '' === $person['email'] && '' === $person['trk_token'] ) {
			return null;
		}
		$shared = array(
			'event_name' => 'purchase',
			'currency'   => $order->get_currency(),
			'order_name' => (string) $order->get_order_number(),
		);
		return array_filter( $person + $shared + $event, array( __CLASS__, 'is_filled' ) );
	}

	private static function is_filled( $value ) {
		return null !== $value && '' !== $value;
	}

	/**
	 * Returns where the visit began according to WooCommerce, for orders whose visit the tracker has not
	 * seen: the landing page and the source names.
	 */
	private static function describe_visit( $order ) {
		if ( $order->get_meta( Headwater_Orders::TOKEN ) || self::has_no_visit( $order ) ) {
			return array();
		}
		$visit = array();
		foreach ( self::VISIT as $field => $member ) {
			$text            = (string) $order->get_meta( '_wc_order_attribution_' . $member );
			$visit[ $field ] = strlen( $text ) <= ( 'url' === $field ? 2048 : 512 ) ? $text : null;
		}
		return $visit;
	}

	private static function has_no_visit( $order ) {
		return in_array( $order->get_created_via(), self::WITHOUT_VISIT, true )
			|| in_array( $order->get_meta( '_wc_order_attribution_source_type' ), self::WITHOUT_VISIT, true )
			|| $order->get_meta( '_subscription_renewal' );
	}

	/**
	 * Includes the shop's address, because shops in a Space may have equal order numbers. Headwater
	 * reads the order's id from a refund's key.
	 */
	private static function key( $kind, $id ) {
		return 'woocommerce:' . wp_parse_url( home_url(), PHP_URL_HOST ) . ':' . $kind . ':' . $id;
	}

	private static function shorten( $text, $limit ) {
		return function_exists( 'mb_substr' ) ? mb_substr( (string) $text, 0, $limit ) : substr( (string) $text, 0, $limit );
	}
}
