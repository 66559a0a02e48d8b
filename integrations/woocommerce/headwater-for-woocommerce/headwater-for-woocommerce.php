<?php
/**
 * Plugin Name:          Headwater for WooCommerce
 * Description:          Reports visits, orders and refunds of the shop to your own Headwater server, which shows the ads and links that led to them.
 * Version:              1.0.0
 * Requires at least:    6.5
 * Requires PHP:         7.4
 * Requires Plugins:     woocommerce
 * WC requires at least: 8.2
 * WC tested up to:      11.0
 * Author:               Headwater
 * License:              Apache-2.0
 * License URI:          https://www.apache.org/licenses/LICENSE-2.0
 * Text Domain:          headwater-for-woocommerce
 *
 * The Apache License 2.0 is compatible with version 3 of the GNU General Public License.
 *
 * @package Headwater
 */

defined( 'ABSPATH' ) || exit;

require_once __DIR__ . '/includes/class-headwater-settings.php';
require_once __DIR__ . '/includes/class-headwater-settings-page.php';
require_once __DIR__ . '/includes/class-headwater-tag.php';
require_once __DIR__ . '/includes/class-headwater-orders.php';
require_once __DIR__ . '/includes/class-headwater-events.php';
require_once __DIR__ . '/includes/class-headwater-client.php';
require_once __DIR__ . '/includes/class-headwater-reports.php';
require_once __DIR__ . '/includes/class-headwater-backfill.php';
require_once __DIR__ . '/includes/class-headwater-privacy.php';

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

// Tells the WP Consent API that this plugin follows it.
add_filter( 'wp_consent_api_registered_' . plugin_basename( __FILE__ ), '__return_true' );

Headwater_Settings::register();
Headwater_Settings_Page::register();
Headwater_Tag::register();
Headwater_Orders::register();
Headwater_Reports::register();
Headwater_Backfill::register();
Headwater_Privacy::register();
