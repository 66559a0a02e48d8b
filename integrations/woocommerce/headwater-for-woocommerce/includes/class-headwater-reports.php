<?php
/**
 * Sends reports in the background, with Action Scheduler.
 *
 * Failed reports are retried for four weeks, with pauses from a minute to six hours. Invalid ones (422)
 * are not retried: the order gets a note.
 *
 * @package Headwater
 */

defined( 'ABSPATH' ) || exit;

class Headwater_Reports {

	const HOOK          = 'headwater_report';
	const GROUP         = 'headwater';
	const MOST_ATTEMPTS = 120;
	const LONGEST_PAUSE = 6 * HOUR_IN_SECONDS;

	public static function register() {
		add_action( self::HOOK, array( __CLASS__, 'send' ), 10, 4 );
	}

	public static function queue( $kind, $order_id, $refund_id = 0 ) {
		self::plan( 0, array( $kind, $order_id, $refund_id, 1 ) );
	}

	private static function plan( $pause, $arguments ) {
		as_schedule_single_action( time() + $pause, self::HOOK, $arguments, self::GROUP );
	}

	public static function send( $kind, $order_id, $refund_id, $attempt ) {
		$event = Headwater_Orders::describe( $kind, $order_id, $refund_id );
		if ( null === $event ) {
			return;
		}
		$answer = self::post( $event );
		if ( 202 === $answer['status'] ) {
			delete_option( Headwater_Settings::PROBLEM );
			return;
		}
		self::tell( $answer );
		if ( 422 === $answer['status'] || $attempt >= self::MOST_ATTEMPTS ) {
			$order = wc_get_order( $order_id );
			/* translators: 1: purchase or refund. 2: the reason. */
			$order->add_order_note( sprintf( __( 'This %1$s was not reported to Headwater: %2$s', 'headwater-for-woocommerce' ), $kind, $answer['reason'] ) );
			return;
		}
		$pause = min( self::LONGEST_PAUSE, MINUTE_IN_SECONDS * pow( 2, min( $attempt - 1, 10 ) ) );
		self::plan( max( $pause, $answer['wait'] ), array( $kind, $order_id, $refund_id, $attempt + 1 ) );
	}

	/**
	 * Returns the response's status (0 without one), reason and seconds to wait.
	 */
	private static function post( $event ) {
		$settings = Headwater_Settings::all();
		if ( ! $settings['url'] || ! $settings['api_key'] ) {
			return self::answer( 0, __( 'the address or the API key is not set', 'headwater-for-woocommerce' ) );
		}
		$response = wp_remote_post(
			$settings['url'] . '/public-api/v1/events/track',
			array(
				'timeout'     => 10,
				'redirection' => 0,
				'headers'     => array(
					'Authorization' => 'Bearer ' . $settings['api_key'],
					'Content-Type'  => 'application/json',
				),
				'body'        => wp_json_encode( $event ),
			)
		);
		if ( is_wp_error( $response ) ) {
			return self::answer( 0, $response->get_error_message() );
		}
		$body = json_decode( wp_remote_retrieve_body( $response ), true );
		$wait = (int) wp_remote_retrieve_header( $response, 'retry-after' );
		return self::answer( (int) wp_remote_retrieve_response_code( $response ), self::reason( $body ), $wait );
	}

	private static function answer( $status, $reason, $wait = 0 ) {
		return array(
			'status' => $status,
			'reason' => $reason,
			'wait'   => min( max( 0, $wait ), self::LONGEST_PAUSE ),
		);
	}

	private static function reason( $body ) {
		$rules = array();
		if ( is_array( $body ) && isset( $body['errors'] ) && is_array( $body['errors'] ) ) {
			foreach ( $body['errors'] as $of_field ) {
				$rules = array_merge( $rules, array_filter( (array) $of_field, 'is_string' ) );
			}
		}
		if ( ! $rules && is_array( $body ) && isset( $body['message'] ) && is_string( $body['message'] ) ) {
			$rules = array( $body['message'] );
		}
		return substr( implode( ' ', $rules ), 0, 500 );
	}

	/**
	 * Shows the last problem on the settings page, until a report succeeds.
	 */
	private static function tell( $answer ) {
		/* translators: 1: an HTTP status. 2: the reason. */
		$sentence = sprintf( __( 'The last report failed (status %1$d): %2$s', 'headwater-for-woocommerce' ), $answer['status'], $answer['reason'] );
		update_option( Headwater_Settings::PROBLEM, $sentence, false );
	}
}
