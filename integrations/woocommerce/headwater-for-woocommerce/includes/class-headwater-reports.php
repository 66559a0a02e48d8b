<?php
/**
 * Sends reports in the background, with Action Scheduler.
 *
 * Failed reports are retried for four weeks. Invalid ones (422) are not retried: the order gets a note.
 *
 * @package Headwater
 */

defined( 'ABSPATH' ) || exit;

/**
 * Queues and sends reports.
 */
class Headwater_Reports {

	const HOOK         = 'headwater_report';
	const GROUP        = 'headwater';
	const MAX_ATTEMPTS = 120;

	public static function register() {
		add_action( self::HOOK, array( __CLASS__, 'send' ), 10, 4 );
	}

	/**
	 * Queues a report. `$detail` is a refund's id, the time of a cancellation, or a deleted order's event.
	 */
	public static function queue( $kind, $order_id, $detail = 0 ) {
		self::schedule( 0, array( $kind, $order_id, $detail, 1 ) );
	}

	public static function send( $kind, $order_id, $detail, $attempt ) {
		$event = self::describe( $kind, $order_id, $detail );
		if ( null === $event ) {
			return;
		}
		$answer = Headwater_Client::request( 'POST', '/events/track', $event );
		if ( 202 === $answer['status'] ) {
			delete_option( Headwater_Settings::PROBLEM );
			return;
		}
		self::keep_problem( $answer );
		if ( 422 !== $answer['status'] && $attempt < self::MAX_ATTEMPTS ) {
			self::schedule( Headwater_Client::pause_after( $attempt, $answer ), array( $kind, $order_id, $detail, $attempt + 1 ) );
			return;
		}
		$order = wc_get_order( $order_id );
		if ( $order ) {
			/* translators: %s: the reason. */
			$order->add_order_note( sprintf( __( 'A change of this order was not reported to Headwater: %s', 'headwater-for-woocommerce' ), $answer['reason'] ) );
		}
	}

	/**
	 * Shows the last problem on the settings page, until a report succeeds.
	 */
	public static function keep_problem( $answer ) {
		/* translators: 1: an HTTP status. 2: the reason. */
		$sentence = sprintf( __( 'The last report failed (status %1$d): %2$s', 'headwater-for-woocommerce' ), $answer['status'], $answer['reason'] );
		update_option( Headwater_Settings::PROBLEM, $sentence, false );
	}

	private static function schedule( $pause, $arguments ) {
		as_schedule_single_action( time() + $pause, self::HOOK, $arguments, self::GROUP );
	}

	/**
	 * Returns the event as the order is now; null if the order no longer exists or its buyer is unknown.
	 */
	private static function describe( $kind, $order_id, $detail ) {
		if ( 'deletion' === $kind ) {
			return $detail;
		}
		$order = wc_get_order( $order_id );
		if ( ! $order ) {
			return null;
		}
		if ( 'refund' === $kind ) {
			return Headwater_Events::describe_refund( $order, $detail );
		}
		if ( 'cancellation' === $kind ) {
			return Headwater_Events::describe_cancellation( $order, $order->has_status( Headwater_Orders::VOID ), $detail );
		}
		return Headwater_Events::describe_purchase( $order );
	}
}
