<?php
/**
 * Deleting the plugin deletes its settings and waiting reports. Orders keep their tokens.
 *
 * @package Headwater
 */

defined( 'WP_UNINSTALL_PLUGIN' ) || exit;

delete_option( 'headwater' );
delete_option( 'headwater_problem' );
if ( function_exists( 'as_unschedule_all_actions' ) ) {
	as_unschedule_all_actions( 'headwater_report' );
}
