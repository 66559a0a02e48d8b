<?php
/**
 * The settings: how they are stored, checked and read.
 *
 * The API key and the signing secret are never printed: an empty field keeps the stored one. The
 * constants HEADWATER_API_KEY and HEADWATER_SIGNING_SECRET in wp-config.php override them, to keep them
 * out of the database.
 *
 * @package Headwater
 */

defined( 'ABSPATH' ) || exit;

/**
 * Stores settings.
 */
class Headwater_Settings {

	const OPTION  = 'headwater';
	const PROBLEM = 'headwater_problem';
	const SECRETS = array(
		'api_key'        => 'HEADWATER_API_KEY',
		'signing_secret' => 'HEADWATER_SIGNING_SECRET',
	);
	const FORMS   = array(
		'site_key'       => '/^trk_pk_[A-Za-z0-9_-]{8,64}$/D',
		'api_key'        => '/^trk_sk_[A-Za-z0-9_-]{8,128}$/D',
		'signing_secret' => '/^[0-9a-f]{64}$/D',
	);

	public static function register() {
		add_action( 'admin_init', array( __CLASS__, 'add_setting' ) );
	}

	public static function add_setting() {
		register_setting( self::OPTION, self::OPTION, array( 'sanitize_callback' => array( __CLASS__, 'sanitize' ) ) );
	}

	/**
	 * Returns all settings as strings; '' if not set.
	 */
	public static function all() {
		$empty  = array_fill_keys( array( 'url', 'site_key', 'api_key', 'signing_secret', 'script', 'consent' ), '' );
		$values = array_merge( $empty, array_intersect_key( self::stored(), $empty ) );
		foreach ( self::SECRETS as $name => $constant ) {
			if ( defined( $constant ) ) {
				$values[ $name ] = (string) constant( $constant );
			}
		}
		return $values;
	}

	/**
	 * Returns the settings to store. Invalid values leave the stored ones, with a message.
	 */
	public static function sanitize( $typed ) {
		$typed           = is_array( $typed ) ? $typed : array();
		$kept            = self::stored();
		$kept['url']     = self::clean_url( $typed, $kept );
		$kept['script']  = self::clean_path( $typed );
		$kept['consent'] = empty( $typed['consent'] ) ? '' : 'required';
		foreach ( array_keys( self::FORMS ) as $name ) {
			$kept[ $name ] = self::clean_key( $name, $typed, isset( $kept[ $name ] ) ? $kept[ $name ] : '' );
		}
		return $kept;
	}

	public static function label( $name ) {
		$labels = array(
			'url'            => __( 'Headwater address', 'headwater-for-woocommerce' ),
			'site_key'       => __( 'Site key', 'headwater-for-woocommerce' ),
			'api_key'        => __( 'API key', 'headwater-for-woocommerce' ),
			'signing_secret' => __( 'Signing secret of the site', 'headwater-for-woocommerce' ),
			'script'         => __( 'Path of the tracker, if not /t.js', 'headwater-for-woocommerce' ),
		);
		return $labels[ $name ];
	}

	private static function stored() {
		$stored = get_option( self::OPTION, array() );
		return is_array( $stored ) ? $stored : array();
	}

	private static function clean_key( $name, $typed, $stored ) {
		$text = self::read_text( $typed, $name );
		if ( '' === $text && isset( self::SECRETS[ $name ] ) ) {
			return empty( $typed[ 'remove_' . $name ] ) ? $stored : '';
		}
		if ( '' === $text || preg_match( self::FORMS[ $name ], $text ) ) {
			return $text;
		}
		/* translators: %s: the name of a setting. */
		self::refuse( sprintf( __( '%s was not changed: it is not a valid key.', 'headwater-for-woocommerce' ), self::label( $name ) ) );
		return $stored;
	}

	private static function clean_url( $typed, $kept ) {
		$text  = untrailingslashit( self::read_text( $typed, 'url' ) );
		$parts = wp_parse_url( $text );
		$host  = is_array( $parts ) && isset( $parts['host'] ) ? $parts['host'] : '';
		$local = in_array( $host, array( 'localhost', '127.0.0.1' ), true );
		$is_ok = $host && isset( $parts['scheme'] ) && ( 'https' === $parts['scheme'] || ( $local && 'http' === $parts['scheme'] ) );
		if ( '' === $text || ( $is_ok && ! array_diff_key( $parts, array_flip( array( 'scheme', 'host', 'port' ) ) ) ) ) {
			return esc_url_raw( $text );
		}
		self::refuse( __( 'The address was not changed: it must be https:// and a host, without a path.', 'headwater-for-woocommerce' ) );
		return isset( $kept['url'] ) ? $kept['url'] : '';
	}

	private static function clean_path( $typed ) {
		$text = self::read_text( $typed, 'script' );
		return preg_match( '#^/[A-Za-z0-9_./-]{1,100}$#D', $text ) ? $text : '';
	}

	private static function read_text( $typed, $name ) {
		return isset( $typed[ $name ] ) && is_string( $typed[ $name ] ) ? trim( $typed[ $name ] ) : '';
	}

	private static function refuse( $sentence ) {
		add_settings_error( self::OPTION, 'headwater', $sentence );
	}
}
