<?php
/**
 * Plugin Name:          Headwater for WooCommerce
 * Description:          Adds the tracker of your Headwater to the shop's pages, stores the visitor's token with each order, and reports purchases and refunds from the server.
 * Version:              0.2.0
 * Requires at least:    6.4
 * Requires PHP:         7.4
 * Requires Plugins:     woocommerce
 * WC requires at least: 8.2
 * License:              Apache-2.0
 * License URI:          https://www.apache.org/licenses/LICENSE-2.0
 * Text Domain:          headwater-for-woocommerce
 *
 * Four classes: settings, the tag in pages, orders with their reports, and the sending of reports. There
 * is no build step.
 *
 * @package Headwater
 */

defined( 'ABSPATH' ) || exit;

require_once __DIR__ . '/includes/class-headwater-settings.php';
require_once __DIR__ . '/includes/class-headwater-tag.php';
require_once __DIR__ . '/includes/class-headwater-orders.php';
require_once __DIR__ . '/includes/class-headwater-reports.php';

add_action(
	'before_woocommerce_init',
	function () {
		$features = 'Automattic\WooCommerce\Utilities\FeaturesUtil';
		if ( class_exists( $features ) ) {
			$features::declare_compatibility( 'custom_order_tables', __FILE__, true );
			$features::declare_compatibility( 'cart_checkout_blocks', __FILE__, true );
		}
	}
);

Headwater_Settings::register();
Headwater_Tag::register();
Headwater_Orders::register();
Headwater_Reports::register();
