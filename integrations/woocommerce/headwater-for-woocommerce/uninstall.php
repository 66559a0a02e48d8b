<?php
/**
 * Deletes the plugin's settings, queued reports, and notes in orders, in each site of a network.
 *
 * @package Headwater
 */

defined( 'WP_UNINSTALL_PLUGIN' ) || exit;

/**
 * Returns whether the current site has a table of WooCommerce, which may be inactive or never installed.
 */
function headwater_has_table( $table ) {
	global $wpdb;
	$found = $wpdb->get_var( $wpdb->prepare( 'SHOW TABLES LIKE %s', $wpdb->esc_like( $table ) ) ); // phpcs:ignore WordPress.DB.DirectDatabaseQuery
	return $table === $found;
}

/**
 * Deletes what the plugin stored in the current site.
 */
function headwater_delete_site_data() {
	global $wpdb;
	foreach ( array( 'headwater', 'headwater_problem', 'headwater_backfill' ) as $option ) {
		delete_option( $option );
	}
	if ( function_exists( 'as_unschedule_all_actions' ) && headwater_has_table( $wpdb->prefix . 'actionscheduler_actions' ) ) {
		as_unschedule_all_actions( 'headwater_report' );
		as_unschedule_all_actions( 'headwater_backfill' );
	}
	$has_orders = headwater_has_table( $wpdb->prefix . 'wc_orders_meta' );
	foreach ( array( '_headwater_token', '_headwater_purchase', '_headwater_cancelled' ) as $key ) {
		delete_post_meta_by_key( $key );
		if ( $has_orders ) {
			$wpdb->delete( $wpdb->prefix . 'wc_orders_meta', array( 'meta_key' => $key ) ); // phpcs:ignore WordPress.DB
		}
	}
}

if ( is_multisite() ) {
	$headwater_site_ids = get_sites(
		array(
			'fields' => 'ids',
			'number' => 0,
		)
	);
	foreach ( $headwater_site_ids as $headwater_site_id ) {
		switch_to_blog( $headwater_site_id );
		headwater_delete_site_data();
		restore_current_blog();
	}
} else {
	headwater_delete_site_data();
}
