<?php
/**
 * Stores the visitor's token with orders, and queues a report when an order is paid, refunded or
 * cancelled.
 *
 * Several hooks fire for one change. Each looks at the order's state, and marks in the order's metadata
 * make sure that a change is reported once.
 *
 * @package Headwater
 */

defined( 'ABSPATH' ) || exit;

/**
 * Follows orders.
 */
class Headwater_Orders {

	const TOKEN     = '_headwater_token';
	const REPORTED  = '_headwater_purchase';
	const CANCELLED = '_headwater_cancelled';

	// An order in one of these states brings no money.
	const VOID = array( 'cancelled', 'failed', 'trash' );

	public static function register() {
		// The classic checkout, then the block checkout.
		add_action( 'woocommerce_checkout_create_order', array( __CLASS__, 'keep_token' ) );
		add_action( 'woocommerce_store_api_checkout_update_order_meta', array( __CLASS__, 'keep_token' ) );

		add_action( 'woocommerce_payment_complete', array( __CLASS__, 'report_payment' ) );
		foreach ( array( 'new_order', 'order_status_changed', 'trash_order', 'untrash_order' ) as $change ) {
			add_action( 'woocommerce_' . $change, array( __CLASS__, 'follow' ) );
		}
		add_action( 'woocommerce_before_delete_order', array( __CLASS__, 'report_deletion' ) );
		// Orders that are posts, moved by the list of orders.
		add_action( 'trashed_post', array( __CLASS__, 'follow_post' ) );
		add_action( 'untrashed_post', array( __CLASS__, 'follow_post' ) );
		add_action( 'before_delete_post', array( __CLASS__, 'report_post_deletion' ) );

		add_action( 'woocommerce_order_refunded', array( __CLASS__, 'report_refund' ), 10, 2 );
		add_action( 'woocommerce_refund_deleted', array( __CLASS__, 'report_deleted_refund' ), 10, 2 );
		add_action( 'woocommerce_rest_delete_shop_order_refund_object', array( __CLASS__, 'report_refund_deleted_by_api' ), 10, 2 );
	}

	/**
	 * Stores the token of the browser that orders. It exists only with the visitor's consent, which may
	 * have expired since.
	 */
	public static function keep_token( $order ) {
		if ( Headwater_Settings::all()['consent'] && function_exists( 'wp_has_consent' ) && ! wp_has_consent( 'statistics' ) ) {
			return;
		}
		$cookie = isset( $_COOKIE['trk_token'] ) ? $_COOKIE['trk_token'] : ''; // phpcs:ignore WordPress.Security.ValidatedSanitizedInput -- checked below.
		if ( ! is_string( $cookie ) || ! preg_match( '/^[\w.~-]{1,255}$/D', $cookie ) ) {
			return;
		}
		$order->update_meta_data( self::TOKEN, $cookie );
		if ( $order->get_id() ) {
			$order->save_meta_data();
		}
	}

	/**
	 * Reports that an order is paid or void, if its status says so.
	 */
	public static function follow( $order_id ) {
		$order = self::find( $order_id );
		if ( $order && $order->is_paid() ) {
			self::report_payment( $order_id );
		} elseif ( $order && $order->has_status( self::VOID ) && self::is_counted( $order ) ) {
			self::mark( $order, self::CANCELLED, 'yes' );
			Headwater_Reports::queue( 'cancellation', $order_id, time() );
		}
	}

	public static function follow_post( $post_id ) {
		if ( 'shop_order' === get_post_type( $post_id ) ) {
			self::follow( $post_id );
		}
	}

	/**
	 * Reports a paid order. An order that was reported as cancelled counts again.
	 */
	public static function report_payment( $order_id ) {
		$order = self::find( $order_id );
		if ( ! $order || Headwater_Events::is_test( $order ) || self::is_counted( $order ) ) {
			return;
		}
		if ( self::was_reported( $order ) ) {
			self::mark( $order, self::CANCELLED, 'no' );
			Headwater_Reports::queue( 'cancellation', $order_id, time() );
			return;
		}
		self::mark_reported( $order );
		Headwater_Reports::queue( 'purchase', $order_id );
	}

	/**
	 * Reports an order that is about to be deleted. Its report cannot be written later.
	 */
	public static function report_deletion( $order_id ) {
		$order = self::find( $order_id );
		if ( ! $order || ! self::is_counted( $order ) ) {
			return;
		}
		self::mark( $order, self::CANCELLED, 'yes' );
		$event = Headwater_Events::describe_cancellation( $order, true, time() );
		if ( $event ) {
			Headwater_Reports::queue( 'deletion', $order_id, $event );
		}
	}

	public static function report_post_deletion( $post_id ) {
		if ( 'shop_order' === get_post_type( $post_id ) ) {
			self::report_deletion( $post_id );
		}
	}

	public static function report_refund( $order_id, $refund_id ) {
		$order = self::find( $order_id );
		// Unpaid orders were never reported, so there is nothing to refund.
		if ( $order && self::was_reported( $order ) ) {
			Headwater_Reports::queue( 'refund', $order->get_id(), (int) $refund_id );
		}
	}

	public static function report_deleted_refund( $refund_id, $order_id ) {
		self::report_refund( $order_id, $refund_id );
	}

	public static function report_refund_deleted_by_api( $refund, $response ) {
		$former = $response->get_data();
		self::report_refund( $refund->get_parent_id(), $former['id'] );
	}

	/**
	 * Marks an order as reported. The mark is the order's id, because subscription renewals copy the
	 * metadata of their order.
	 */
	public static function mark_reported( $order ) {
		self::mark( $order, self::REPORTED, (string) $order->get_id() );
	}

	/**
	 * Returns an order, but no refund and no subscription; null without one.
	 */
	private static function find( $order_id ) {
		$order = wc_get_order( $order_id );
		return $order && 'shop_order' === $order->get_type() ? $order : null;
	}

	private static function was_reported( $order ) {
		return (string) $order->get_id() === (string) $order->get_meta( self::REPORTED );
	}

	private static function is_counted( $order ) {
		return self::was_reported( $order ) && 'yes' !== $order->get_meta( self::CANCELLED );
	}

	private static function mark( $order, $name, $value ) {
		$order->update_meta_data( $name, $value );
		$order->save_meta_data();
	}
}
