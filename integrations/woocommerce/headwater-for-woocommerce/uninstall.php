<?php
/**
 * Deletes the plugin's settings, queued reports, and notes in orders, in each site of a network.
 *
 * @package Headwater
 */

defined( 'WP_UNINSTALL_PLUGIN' ) || exit;

/**
 * Deletes what the plugin stored in the current site.
 */
function headwater_delete_site_data() {
	global $wpdb;
	foreach ( array( 'headwater', 'headwater_problem', 'headwater_backfill' ) as $option ) {
		delete_option( $option );
	}
	foreach ( array( 'headwater_report', 'headwater_backfill' ) as $hook ) {
		if ( function_exists( 'as_unschedule_all_actions' ) ) {
			as_unschedule_all_actions( $hook );
		}
	}
	$table = $wpdb->prefix . 'wc_orders_meta';
	// phpcs:disable WordPress.DB.DirectDatabaseQuery -- WooCommerce may be inactive.
	$has_table = $table === $wpdb->get_var( $wpdb->prepare( 'SHOW TABLES LIKE %s', $wpdb->esc_like( $table ) ) );
	foreach ( array( '_headwater_token', '_headwater_purchase', '_headwater_cancelled' ) as $key ) {
		delete_post_meta_by_key( $key );
		if ( $has_table ) {
			$wpdb->delete( $table, array( 'meta_key' => $key ) ); // phpcs:ignore WordPress.DB.SlowDBQuery.slow_db_query_meta_key
		}
	}
	// phpcs:enable
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
