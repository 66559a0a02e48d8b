<?php
/**
 * A shop with the plugin. Runs the steps in its first argument, a JSON list of [step, arguments…], and prints
 * their results in JSON.
 */

require __DIR__ . ( getenv( 'HEADWATER_TEST_WORDPRESS' ) ? '/real_wordpress.php' : '/wordpress.php' );
require __DIR__ . '/woocommerce.php';
require __DIR__ . '/../../integrations/woocommerce/headwater-for-woocommerce/headwater-for-woocommerce.php';

function printed( $function ) {
	ob_start();
	$function();
	return ob_get_clean();
}

$steps = array(
	'save'     => function ( $typed ) {
		do_action( 'admin_init' );
		update_option( 'headwater', $typed );
		return get_option( 'headwater' );
	},
	'page'     => function () {
		do_action( 'admin_menu' );
		return printed(
			function () {
				do_action( 'woocommerce_page_headwater' );
			}
		);
	},
	// The WP Consent API, with the consent that it has for every category.
	'consent'  => function ( $has_consent ) {
		$GLOBALS['has_consent'] = $has_consent;
		if ( ! function_exists( 'wp_has_consent' ) ) {
			function wp_has_consent( $category ) {
				return $GLOBALS['has_consent'];
			}
		}
		return apply_filters( 'wp_consent_api_registered_headwater-for-woocommerce/headwater-for-woocommerce.php', false );
	},
	'head'     => function ( $id = 0, $email = '' ) {
		$user             = new WP_User();
		$user->ID         = $id;
		$user->user_email = $email;

		$GLOBALS['current_user'] = $user;
		return printed(
			function () {
				do_action( 'wp_head' );
			}
		);
	},
	'checkout' => function ( $hook, $data, $cookie = null ) {
		$_COOKIE = null === $cookie ? array() : array( 'trk_token' => $cookie );
		$order   = new Order( $data );
		do_action( $hook, $order );
		$order->save_meta_data();
		return $order->get_meta( '_headwater_token' );
	},
	'status'   => function ( $status, $id ) {
		$order  = wc_get_order( $id );
		$former = $order->get_status();
		$order->set_status( $status );
		do_action( 'woocommerce_order_status_changed', $id, $former, $status, $order );
		return count( $GLOBALS['queue'] );
	},
	'paid'     => function ( $id ) {
		do_action( 'woocommerce_payment_complete', $id );
		return count( $GLOBALS['queue'] );
	},
	'add'      => function ( $data ) {
		new Order( $data );
	},
	'refund'   => function ( $order, $data ) {
		new Order( array( 'type' => 'shop_order_refund', 'parent_id' => $order ) + $data );
		do_action( 'woocommerce_order_refunded', $order, $data['id'] );
		return count( $GLOBALS['queue'] );
	},
	'unrefund' => function ( $order, $refund ) {
		unset( $GLOBALS['orders'][ $refund ] );
		do_action( 'woocommerce_refund_deleted', $refund, $order );
	},
	'delete'   => function ( $id ) {
		do_action( 'woocommerce_before_delete_order', $id );
		unset( $GLOBALS['orders'][ $id ] );
	},
	'backfill' => function ( $step = 'run' ) {
		Headwater_Backfill::$step();
		return Headwater_Backfill::progress();
	},
	'progress' => function () {
		return Headwater_Backfill::progress();
	},
	'export'   => function ( $address ) {
		return call_user_func( apply_filters( 'wp_privacy_personal_data_exporters', array() )['headwater-for-woocommerce']['callback'], $address );
	},
	'erase'    => function ( $address ) {
		return call_user_func( apply_filters( 'wp_privacy_personal_data_erasers', array() )['headwater-for-woocommerce']['callback'], $address );
	},
	'run'      => function ( $until = 0 ) {
		return run_queue( $until );
	},
	'set'      => function ( $values ) {
		update_option( 'headwater', array_merge( get_option( 'headwater', array() ), $values ) );
	},
	'notes'    => function ( $id ) {
		return wc_get_order( $id )->notes;
	},
	'problem'  => function () {
		return get_option( 'headwater_problem', '' );
	},
	'personal' => function () {
		return apply_filters( 'woocommerce_privacy_remove_order_personal_data_meta', array( 'a' => 'text' ) );
	},
);

$given = array();
foreach ( json_decode( $argv[1], true ) as $call ) {
	$given[] = $steps[ array_shift( $call ) ]( ...$call );
}
echo json_encode( $given );
