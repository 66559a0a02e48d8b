<?php
/**
 * The settings, and their page below WooCommerce's menu.
 *
 * The API key is never printed: an empty field keeps the stored one. HEADWATER_API_KEY in
 * wp-config.php overrides it, to keep the key out of the database.
 *
 * @package Headwater
 */

defined( 'ABSPATH' ) || exit;

class Headwater_Settings {

	const OPTION  = 'headwater';
	const PROBLEM = 'headwater_problem';
	const PAGE    = 'headwater';
	const FORMS   = array(
		'site_key' => '/^trk_pk_[A-Za-z0-9_-]{8,64}$/',
		'api_key'  => '/^trk_sk_[A-Za-z0-9_-]{8,128}$/',
	);

	public static function register() {
		add_action( 'admin_menu', array( __CLASS__, 'add_page' ) );
		add_action( 'admin_init', array( __CLASS__, 'add_setting' ) );
	}

	/**
	 * Returns all settings as strings; '' if not set.
	 */
	public static function all() {
		$empty  = array_fill_keys( array( 'url', 'site_key', 'api_key', 'script', 'consent' ), '' );
		$stored = get_option( self::OPTION, array() );
		$values = array_merge( $empty, is_array( $stored ) ? array_intersect_key( $stored, $empty ) : array() );
		if ( defined( 'HEADWATER_API_KEY' ) ) {
			$values['api_key'] = (string) HEADWATER_API_KEY;
		}
		return $values;
	}

	/**
	 * Returns the settings to store. Invalid values leave the stored ones, with a message.
	 */
	public static function sanitize( $typed ) {
		$typed  = is_array( $typed ) ? $typed : array();
		$stored = get_option( self::OPTION, array() );
		$kept   = is_array( $stored ) ? $stored : array();
		$kept['url']     = self::clean_url( $typed, $kept );
		$kept['script']  = self::clean_path( $typed );
		$kept['consent'] = empty( $typed['consent'] ) ? '' : 'required';
		foreach ( self::FORMS as $name => $form ) {
			$text = isset( $typed[ $name ] ) ? trim( (string) $typed[ $name ] ) : '';
			if ( '' === $text && 'api_key' === $name ) {
				continue;
			}
			if ( '' !== $text && ! preg_match( $form, $text ) ) {
				/* translators: %s: the name of a setting. */
				self::refuse( sprintf( __( '%s was not changed: it is not a valid key.', 'headwater-for-woocommerce' ), self::label( $name ) ) );
				continue;
			}
			$kept[ $name ] = $text;
		}
		return $kept;
	}

	private static function clean_url( $typed, $kept ) {
		$text  = isset( $typed['url'] ) ? untrailingslashit( trim( (string) $typed['url'] ) ) : '';
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
		$text = isset( $typed['script'] ) ? trim( (string) $typed['script'] ) : '';
		return preg_match( '#^/[A-Za-z0-9_./-]{1,100}$#', $text ) ? $text : '';
	}

	private static function refuse( $sentence ) {
		add_settings_error( self::OPTION, 'headwater', $sentence );
	}

	private static function label( $name ) {
		$labels = array(
			'url'      => __( 'Headwater address', 'headwater-for-woocommerce' ),
			'site_key' => __( 'Site key', 'headwater-for-woocommerce' ),
			'api_key'  => __( 'API key', 'headwater-for-woocommerce' ),
			'script'   => __( 'Path of the tracker, if not /t.js', 'headwater-for-woocommerce' ),
		);
		return $labels[ $name ];
	}

	public static function add_setting() {
		register_setting( self::OPTION, self::OPTION, array( 'sanitize_callback' => array( __CLASS__, 'sanitize' ) ) );
	}

	public static function add_page() {
		add_submenu_page( 'woocommerce', 'Headwater', 'Headwater', 'manage_woocommerce', self::PAGE, array( __CLASS__, 'print_page' ) );
		// Users who can open the page can save it.
		add_filter( 'option_page_capability_' . self::OPTION, array( __CLASS__, 'capability' ) );
	}

	public static function capability() {
		return 'manage_woocommerce';
	}

	public static function print_page() {
		$values  = self::all();
		$problem = get_option( self::PROBLEM, '' );
		echo '<div class="wrap"><h1>Headwater</h1>';
		settings_errors( self::OPTION );
		if ( $problem ) {
			echo '<div class="notice notice-warning"><p>' . esc_html( $problem ) . '</p></div>';
		}
		echo '<form method="post" action="options.php">';
		settings_fields( self::OPTION );
		echo '<table class="form-table" role="presentation">';
		self::print_field( 'url', $values['url'], 'https://hw.shop.example' );
		self::print_field( 'site_key', $values['site_key'], 'trk_pk_…' );
		self::print_field( 'api_key', '', $values['api_key'] ? __( 'stored; empty keeps it', 'headwater-for-woocommerce' ) : 'trk_sk_…' );
		self::print_field( 'script', $values['script'], '/t.js' );
		echo '</table><p><label><input type="checkbox" name="headwater[consent]" value="required"' . checked( $values['consent'], 'required', false ) . '> '
			. esc_html__( 'Report nothing before the visitor consents', 'headwater-for-woocommerce' ) . '</label></p>';
		submit_button();
		echo '</form></div>';
	}

	private static function print_field( $name, $value, $placeholder ) {
		$type = 'api_key' === $name ? 'password' : 'text';
		printf(
			'<tr><th scope="row"><label for="headwater-%1$s">%2$s</label></th><td><input class="regular-text" type="%3$s" id="headwater-%1$s" name="headwater[%1$s]" value="%4$s" placeholder="%5$s" autocomplete="off"></td></tr>',
			esc_attr( $name ),
			esc_html( self::label( $name ) ),
			esc_attr( $type ),
			esc_attr( $value ),
			esc_attr( $placeholder )
		);
	}
}
