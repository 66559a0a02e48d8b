<?php
/**
 * A shop with the plugin: does what its first argument says, a list of [step, arguments…], and prints
 * what each step gave, as JSON.
 */

require __DIR__ . '/wordpress.php';
require __DIR__ . '/../../integrations/woocommerce/headwater-for-woocommerce/headwater-for-woocommerce.php';

function printed( $function ) {
	ob_start();
	$function();
	return ob_get_clean();
}

$steps = array(
	'save'     => function ( $typed ) {
		do_action( 'admin_init' );
		update_option( 'headwater', apply_filters( 'sanitize_option_headwater', $typed ) );
		return get_option( 'headwater' );
	},
	'page'     => function () {
		do_action( 'admin_menu' );
		return printed(
			function () {
				do_action( 'page_headwater' );
			}
		);
	},
	'head'     => function ( $id = 0, $email = '' ) {
		$GLOBALS['user'] = $id ? new Visitor( $id, $email ) : null;
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
		return $order->get_meta( 'trk_token' );
	},
	'status'   => function ( $status, $id ) {
		do_action( "woocommerce_order_status_$status", $id );
		return count( $GLOBALS['queue'] );
	},
	'refund'   => function ( $order, $data ) {
		new Order( $data );
		do_action( 'woocommerce_order_refunded', $order, $data['id'] );
		return count( $GLOBALS['queue'] );
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
