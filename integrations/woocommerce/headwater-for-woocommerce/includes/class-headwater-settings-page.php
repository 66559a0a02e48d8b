<?php
/**
 * The settings page below WooCommerce's menu.
 *
 * @package Headwater
 */

defined( 'ABSPATH' ) || exit;

/**
 * Prints the settings page.
 */
class Headwater_Settings_Page {

	const SLUG       = 'headwater';
	const CAPABILITY = 'manage_woocommerce';

	public static function register() {
		add_action( 'admin_menu', array( __CLASS__, 'add_page' ) );
	}

	public static function add_page() {
		add_submenu_page( 'woocommerce', 'Headwater', 'Headwater', self::CAPABILITY, self::SLUG, array( __CLASS__, 'print_page' ) );
		// Users who can open the page can save it.
		add_filter( 'option_page_capability_' . Headwater_Settings::OPTION, array( __CLASS__, 'capability' ) );
	}

	public static function capability() {
		return self::CAPABILITY;
	}

	public static function print_page() {
		$problem = get_option( Headwater_Settings::PROBLEM, '' );
		echo '<div class="wrap"><h1>Headwater</h1>';
		settings_errors();
		if ( $problem ) {
			echo '<div class="notice notice-warning"><p>' . esc_html( $problem ) . '</p></div>';
		}
		self::print_settings( Headwater_Settings::all() );
		self::print_backfill( Headwater_Backfill::progress() );
		echo '</div>';
	}

	private static function print_settings( $values ) {
		echo '<form method="post" action="options.php">';
		settings_fields( Headwater_Settings::OPTION );
		echo '<table class="form-table" role="presentation">';
		self::print_field( 'url', $values, 'https://hw.shop.example' );
		self::print_field( 'site_key', $values, 'trk_pk_…' );
		self::print_field( 'api_key', $values, 'trk_sk_…' );
		self::print_field( 'signing_secret', $values, __( 'optional; signs the identity of logged-in customers', 'headwater-for-woocommerce' ) );
		self::print_field( 'script', $values, '/t.js' );
		echo '</table><p><label><input type="checkbox" name="headwater[consent]" value="required"' . checked( $values['consent'], 'required', false ) . '> '
			. esc_html__( 'Report nothing before the visitor consents', 'headwater-for-woocommerce' ) . '</label></p>';
		submit_button();
		echo '</form>';
	}

	/**
	 * Prints a field with its value; of a secret only whether it is stored.
	 */
	private static function print_field( $name, $values, $placeholder ) {
		$is_secret = isset( Headwater_Settings::SECRETS[ $name ] );
		$is_stored = $is_secret && '' !== $values[ $name ];
		printf(
			'<tr><th scope="row"><label for="headwater-%1$s">%2$s</label></th><td><input class="regular-text" type="%3$s" id="headwater-%1$s" name="headwater[%1$s]" value="%4$s" placeholder="%5$s" autocomplete="off">',
			esc_attr( $name ),
			esc_html( Headwater_Settings::label( $name ) ),
			esc_attr( $is_secret ? 'password' : 'text' ),
			esc_attr( $is_secret ? '' : $values[ $name ] ),
			esc_attr( $is_stored ? __( 'stored; empty keeps it', 'headwater-for-woocommerce' ) : $placeholder )
		);
		if ( $is_stored ) {
			printf(
				' <label><input type="checkbox" name="headwater[remove_%1$s]" value="yes"> %2$s</label>',
				esc_attr( $name ),
				esc_html__( 'Remove', 'headwater-for-woocommerce' )
			);
		}
		echo '</td></tr>';
	}

	private static function print_backfill( $progress ) {
		echo '<h2>' . esc_html__( 'Past orders', 'headwater-for-woocommerce' ) . '</h2><p>'
			. esc_html__( 'Sends paid orders and refunds from before the plugin was installed, in the background. Orders that Headwater already has count once.', 'headwater-for-woocommerce' ) . '</p>';
		if ( $progress['state'] ) {
			echo '<p><strong>' . esc_html( self::describe_progress( $progress ) ) . '</strong></p>';
		}
		if ( $progress['problem'] ) {
			echo '<p>' . esc_html( $progress['problem'] ) . '</p>';
		}
		$buttons              = array(
			''        => array( 'start', __( 'Send past orders', 'headwater-for-woocommerce' ) ),
			'done'    => array( 'start', __( 'Send past orders again', 'headwater-for-woocommerce' ) ),
			'running' => array( 'pause', __( 'Pause', 'headwater-for-woocommerce' ) ),
			'paused'  => array( 'continue', __( 'Continue', 'headwater-for-woocommerce' ) ),
		);
		list( $step, $label ) = $buttons[ $progress['state'] ];
		echo '<form method="post" action="' . esc_url( admin_url( 'admin-post.php' ) ) . '">';
		wp_nonce_field( Headwater_Backfill::HOOK );
		printf(
			'<input type="hidden" name="action" value="%1$s"><input type="hidden" name="step" value="%2$s"><button class="button">%3$s</button></form>',
			esc_attr( Headwater_Backfill::HOOK ),
			esc_attr( $step ),
			esc_html( $label )
		);
	}

	private static function describe_progress( $progress ) {
		return sprintf(
			/* translators: 1: orders looked at. 2: all orders. 3: events sent. 4: events refused. */
			__( '%1$s of %2$s orders done; %3$s purchases and refunds sent, %4$s refused.', 'headwater-for-woocommerce' ),
			number_format_i18n( $progress['orders'] ),
			number_format_i18n( max( $progress['total'], $progress['orders'] ) ),
			number_format_i18n( $progress['sent'] ),
			number_format_i18n( $progress['refused'] )
		);
	}
}
