<?php
/**
 * Stores the visitor's token with orders, and reports payments and refunds.
 *
 * An order is reported once, when first processing or completed; each full or partial refund once. Our
 * own ids make repeated reports count once.
 *
 * @package Headwater
 */

defined( 'ABSPATH' ) || exit;

class Headwater_Orders {

	const TOKEN    = 'trk_token';
	const REPORTED = '_headwater_purchase';
	const VISIT    = array(
		'url'          => 'session_entry',
		'trk_source'   => 'utm_source',
		'trk_type'     => 'utm_medium',
		'trk_campaign' => 'utm_campaign',
		'trk_keyword'  => 'utm_term',
	);

	public static function register() {
		// The classic checkout, then the block checkout.
		add_action( 'woocommerce_checkout_create_order', array( __CLASS__, 'keep_token' ) );
		add_action( 'woocommerce_store_api_checkout_update_order_meta', array( __CLASS__, 'keep_token' ) );
		add_action( 'woocommerce_order_status_processing', array( __CLASS__, 'report_purchase' ) );
		add_action( 'woocommerce_order_status_completed', array( __CLASS__, 'report_purchase' ) );
		add_action( 'woocommerce_order_refunded', array( __CLASS__, 'report_refund' ), 10, 2 );
		add_filter( 'woocommerce_privacy_remove_order_personal_data_meta', array( __CLASS__, 'name_personal_data' ) );
	}

	/**
	 * Stores the token of the browser that orders. It exists only with the visitor's consent.
	 */
	public static function keep_token( $order ) {
		$token = isset( $_COOKIE[ self::TOKEN ] ) ? wp_unslash( $_COOKIE[ self::TOKEN ] ) : '';
		if ( ! is_string( $token ) || ! preg_match( '/^[\w.~-]{1,255}$/D', $token ) ) {
			return;
		}
		$order->update_meta_data( self::TOKEN, $token );
		if ( $order->get_id() ) {
			$order->save_meta_data();
		}
	}

	public static function report_purchase( $order_id ) {
		$order = wc_get_order( $order_id );
		// The mark is the order's id, because subscription renewals copy their order's metadata.
		if ( ! $order || self::was_reported( $order ) ) {
			return;
		}
		$order->update_meta_data( self::REPORTED, (string) $order->get_id() );
		$order->save_meta_data();
		Headwater_Reports::queue( 'purchase', $order->get_id() );
	}

	public static function report_refund( $order_id, $refund_id ) {
		$order = wc_get_order( $order_id );
		// Unpaid orders were never reported, so there is nothing to refund.
		if ( $order && self::was_reported( $order ) ) {
			Headwater_Reports::queue( 'refund', $order->get_id(), (int) $refund_id );
		}
	}

	private static function was_reported( $order ) {
		return (string) $order->get_id() === (string) $order->get_meta( self::REPORTED );
	}

	/**
	 * Lets WooCommerce's eraser remove the token with other personal data.
	 */
	public static function name_personal_data( $meta ) {
		return array_merge( (array) $meta, array( self::TOKEN => 'text' ) );
	}

	/**
	 * Returns the body of Create Event for an order or a refund; null if it no longer exists, or the
	 * buyer is unknown.
	 */
	public static function describe( $kind, $order_id, $refund_id ) {
		$order  = wc_get_order( $order_id );
		$refund = 'refund' === $kind ? wc_get_order( $refund_id ) : null;
		if ( ! $order || ( 'refund' === $kind && ! $refund ) ) {
			return null;
		}
		$person = self::describe_person( $order );
		if ( empty( $person['email'] ) && empty( $person['trk_token'] ) ) {
			return null;
		}
		$event = $refund ? self::describe_refund( $order, $refund ) : self::describe_purchase( $order );
		return array_filter( $person + $event, array( __CLASS__, 'is_told' ) );
	}

	public static function is_told( $value ) {
		return null !== $value && '' !== $value;
	}

	private static function describe_person( $order ) {
		return array(
			'email'      => self::shorten( $order->get_billing_email(), 254 ),
			'trk_token'  => (string) $order->get_meta( self::TOKEN ),
			'first_name' => self::shorten( $order->get_billing_first_name(), 255 ),
			'last_name'  => self::shorten( $order->get_billing_last_name(), 255 ),
			'phone'      => self::shorten( $order->get_billing_phone(), 64 ),
		);
	}

	private static function describe_purchase( $order ) {
		$paid = $order->get_date_paid() ? $order->get_date_paid() : $order->get_date_created();
		$user = (int) $order->get_customer_id();
		return self::describe_visit( $order ) + array(
			'event_name'      => 'purchase',
			'event_time'      => $paid ? $paid->getTimestamp() : null,
			'amount'          => (float) $order->get_total(),
			'currency'        => $order->get_currency(),
			'order_id'        => (string) $order->get_id(),
			'order_name'      => (string) $order->get_order_number(),
			'checkout_token'  => $order->get_order_key(),
			'tracking_id'     => $user ? (string) $user : null,
			'company_name'    => self::shorten( $order->get_billing_company(), 190 ),
			'user_agent'      => self::shorten( $order->get_customer_user_agent(), 2048 ),
			'idempotency_key' => self::key( 'purchase', $order->get_id() ),
		);
	}

	private static function describe_refund( $order, $refund ) {
		$made = $refund->get_date_created();
		return array(
			'event_name'      => 'purchase',
			'event_time'      => $made ? $made->getTimestamp() : null,
			'amount'          => -abs( (float) $refund->get_amount() ),
			'currency'        => $order->get_currency(),
			'order_name'      => (string) $order->get_order_number(),
			'idempotency_key' => self::key( 'order', $order->get_id() . ':refund:' . $refund->get_id() ),
		);
	}

	/**
	 * Returns where the visit began according to WooCommerce, for orders whose visit the tracker has not
	 * seen: the landing page and the source names.
	 */
	private static function describe_visit( $order ) {
		if ( $order->get_meta( self::TOKEN ) ) {
			return array();
		}
		$visit = array();
		foreach ( self::VISIT as $field => $member ) {
			$text            = (string) $order->get_meta( '_wc_order_attribution_' . $member );
			$visit[ $field ] = strlen( $text ) <= ( 'url' === $field ? 2048 : 512 ) ? $text : null;
		}
		return $visit;
	}

	/**
	 * Includes the shop's address, because shops in a Space may have equal order numbers. Headwater
	 * reads the order's id from a refund's key.
	 */
	private static function key( $kind, $id ) {
		return 'woocommerce:' . wp_parse_url( home_url(), PHP_URL_HOST ) . ':' . $kind . ':' . $id;
	}

	private static function shorten( $text, $most ) {
		return function_exists( 'mb_substr' ) ? mb_substr( (string) $text, 0, $most ) : substr( (string) $text, 0, $most );
	}
}
