<?php
/**
 * Prints the tracker's tag in the head of every page, and identifies logged-in users.
 *
 * WordPress functions print the tags, so that they get a Content Security Policy's nonce.
 *
 * @package Headwater
 */

defined( 'ABSPATH' ) || exit;

/**
 * Prints the tag.
 */
class Headwater_Tag {

	// Queues calls until the tracker is loaded.
	const STUB = "window.trk=window.trk||{q:[]};['identify','track','page','consent'].forEach(function(m){trk[m]=trk[m]||function(){trk.q.push([m,arguments])}})";

	// Banners with the WP Consent API report a choice this way.
	const CONSENT = "document.addEventListener('wp_listen_for_consent_change',function(e){if(e.detail&&e.detail.statistics)trk.consent(e.detail.statistics==='allow')})";

	public static function register() {
		add_action( 'wp_head', array( __CLASS__, 'print_tag' ), 1 );
	}

	public static function print_tag() {
		$settings = Headwater_Settings::all();
		if ( ! $settings['url'] || ! $settings['site_key'] ) {
			return;
		}
		$tag = array(
			'async'     => true,
			'src'       => $settings['url'] . ( $settings['script'] ? $settings['script'] : '/t.js' ),
			'data-site' => $settings['site_key'],
		);
		if ( $settings['consent'] ) {
			$tag['data-consent'] = 'required';
		}
		wp_print_inline_script_tag( self::STUB . ( $settings['consent'] ? ';' . self::CONSENT : '' ) );
		wp_print_script_tag( $tag );
		$user = wp_get_current_user();
		if ( $user && $user->exists() ) {
			$person = self::sign( $settings['signing_secret'], $user->user_email, (string) $user->ID, time() );
			// Escape user input that could end the script.
			wp_print_inline_script_tag( 'trk.identify(' . wp_json_encode( $person, JSON_HEX_TAG | JSON_HEX_AMP ) . ')' );
		}
	}

	/**
	 * Returns an identity with its signature, or without one if there is no secret.
	 */
	private static function sign( $secret, $email, $tracking_id, $signed_at ) {
		$person = array(
			'email'       => $email,
			'tracking_id' => $tracking_id,
		);
		if ( $secret ) {
			$address             = function_exists( 'mb_strtolower' ) ? mb_strtolower( trim( $email ), 'UTF-8' ) : strtolower( trim( $email ) );
			$person['signed_at'] = $signed_at;
			$person['signature'] = hash_hmac( 'sha256', $signed_at . ' ' . $address . ' ' . $tracking_id, $secret );
		}
		return $person;
	}
}
