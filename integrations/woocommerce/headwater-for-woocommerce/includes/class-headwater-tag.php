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

	// Passes on the choice in a banner with the WP Consent API: one made before this page, or none needed
	// in the visitor's region, and later changes. Without a consent type, wp_has_consent() is true for
	// everyone, so the tracker waits until a banner has set one.
	const CONSENT = <<<'JS'
(function () {
  function ask() {
    var type = window.wp_consent_type;
    if (type === undefined && !window.waitfor_consent_hook) type = window.wp_fallback_consent_type;
    if (type && window.wp_has_consent && wp_has_consent('statistics')) trk.consent(true);
  }
  // Banners dispatch the second at the document or at the window.
  ['DOMContentLoaded', 'wp_consent_type_defined'].forEach(function (name) { window.addEventListener(name, ask, true); });
  document.addEventListener('wp_listen_for_consent_change', function (event) {
    if (event.detail && event.detail.statistics) trk.consent(event.detail.statistics === 'allow');
  });
})();
JS;

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
			// The browser must not remember what the WP Consent API keeps.
			$tag['data-consent'] = function_exists( 'wp_has_consent' ) ? 'managed' : 'required';
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
