<?php
/**
 * Calls Headwater's API.
 *
 * @package Headwater
 */

defined( 'ABSPATH' ) || exit;

/**
 * Makes requests.
 */
class Headwater_Client {

	const LONGEST_PAUSE = 6 * HOUR_IN_SECONDS;

	/**
	 * Returns the response's status (0 without one), reason, seconds to wait, and body.
	 */
	public static function request( $method, $path, $body = null ) {
		$settings = Headwater_Settings::all();
		if ( ! $settings['url'] || ! $settings['api_key'] ) {
			return self::answer( 0, __( 'the address or the API key is not set', 'headwater-for-woocommerce' ) );
		}
		$response = wp_remote_request(
			$settings['url'] . '/public-api/v1' . $path,
			array(
				'method'      => $method,
				'timeout'     => 10,
				'redirection' => 0,
				'headers'     => array(
					'Authorization' => 'Bearer ' . $settings['api_key'],
					'Content-Type'  => 'application/json',
				),
				'body'        => null === $body ? '' : wp_json_encode( $body ),
			)
		);
		if ( is_wp_error( $response ) ) {
			return self::answer( 0, $response->get_error_message() );
		}
		$content = json_decode( wp_remote_retrieve_body( $response ), true );
		$content = is_array( $content ) ? $content : array();
		$wait    = (int) wp_remote_retrieve_header( $response, 'retry-after' );
		return self::answer( (int) wp_remote_retrieve_response_code( $response ), self::read_reason( $content ), $wait, $content );
	}

	/**
	 * Returns the seconds before the next attempt: from a minute to six hours.
	 */
	public static function pause_after( $attempt, $answer ) {
		$pause = min( self::LONGEST_PAUSE, MINUTE_IN_SECONDS * pow( 2, min( $attempt - 1, 10 ) ) );
		return max( $pause, $answer['wait'] );
	}

	/**
	 * Returns an error's messages as one text.
	 */
	public static function read_reason( $content ) {
		$messages = array();
		$errors   = isset( $content['errors'] ) && is_array( $content['errors'] ) ? $content['errors'] : array();
		foreach ( $errors as $of_field ) {
			$messages = array_merge( $messages, array_filter( (array) $of_field, 'is_string' ) );
		}
		if ( ! $messages && isset( $content['message'] ) && is_string( $content['message'] ) ) {
			$messages = array( $content['message'] );
		}
		return substr( implode( ' ', $messages ), 0, 500 );
	}

	private static function answer( $status, $reason, $wait = 0, $content = array() ) {
		return array(
			'status'  => $status,
			'reason'  => $reason,
			'wait'    => min( max( 0, $wait ), self::LONGEST_PAUSE ),
			'content' => $content,
		);
	}
}
