<?php
/**
 * A real WordPress in the folder HEADWATER_TEST_WORDPRESS, as an administrator sees it, without what
 * earlier runs stored.
 */

define( 'WP_ADMIN', true );
require getenv( 'HEADWATER_TEST_WORDPRESS' ) . '/wp-load.php';
require_once ABSPATH . 'wp-admin/includes/admin.php';

foreach ( array( 'headwater', 'headwater_problem', 'headwater_backfill' ) as $option ) {
	delete_option( $option );
}
$wpdb->query( "DELETE FROM $wpdb->posts" );
// Looking for updates needs the internet.
foreach ( array( 'core', 'plugins', 'themes' ) as $part ) {
	remove_action( 'admin_init', "_maybe_update_$part" );
}
// Of the pages' head, only the plugin's part is printed.
remove_all_actions( 'wp_head' );
add_theme_support( 'html5', array( 'script' ) );
wp_set_current_user( 1 );
wp_get_current_user()->add_cap( 'manage_woocommerce' );
// The menu that WooCommerce adds.
add_action(
	'admin_menu',
	function () {
		add_menu_page( 'WooCommerce', 'WooCommerce', 'manage_woocommerce', 'woocommerce' );
	},
	9
);
