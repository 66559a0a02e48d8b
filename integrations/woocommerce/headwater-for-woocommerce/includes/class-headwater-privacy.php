<?php
/**
 * Suggests text for the privacy policy, and takes part in WordPress' export and erasure of personal data.
 *
 * @package Headwater
 */

defined( 'ABSPATH' ) || exit;

/**
 * Exports and erases personal data.
 */
class Headwater_Privacy {

	const ORDERS = 50;

	public static function register() {
		add_action( 'admin_init', array( __CLASS__, 'suggest_policy' ) );
		add_filter( 'wp_privacy_personal_data_exporters', array( __CLASS__, 'add_exporter' ) );
		add_filter( 'wp_privacy_personal_data_erasers', array( __CLASS__, 'add_eraser' ) );
		add_filter( 'woocommerce_privacy_remove_order_personal_data_meta', array( __CLASS__, 'name_personal_data' ) );
	}

	public static function suggest_policy() {
		$settings = Headwater_Settings::all();
		$server   = $settings['url'] ? $settings['url'] : __( '(the address of your Headwater server)', 'headwater-for-woocommerce' );
		$text     = '<p>' . esc_html__( 'We measure which advertisements and links lead to orders. For this we use Headwater, which runs on this server:', 'headwater-for-woocommerce' )
			. ' ' . esc_html( $server ) . '</p><p>'
			. esc_html__( 'When you visit our shop, your browser sends it the pages you visit, the page that led you here, your IP address, details of your browser, and a random number (trk_token), which is kept in a cookie and in local storage for 400 days. If you are logged in, your e-mail address and customer number are sent too.', 'headwater-for-woocommerce' )
			. '</p><p>'
			. esc_html__( 'When you order, our shop sends your name, e-mail address, telephone number, company and browser, the number, amount and currency of the order, and later its refunds. The random number is stored with the order.', 'headwater-for-woocommerce' )
			. '</p>';
		wp_add_privacy_policy_content( 'Headwater for WooCommerce', $text );
	}

	public static function add_exporter( $exporters ) {
		$exporters['headwater-for-woocommerce'] = array(
			'exporter_friendly_name' => 'Headwater',
			'callback'               => array( __CLASS__, 'export' ),
		);
		return $exporters;
	}

	public static function add_eraser( $erasers ) {
		$erasers['headwater-for-woocommerce'] = array(
			'eraser_friendly_name' => 'Headwater',
			'callback'             => array( __CLASS__, 'erase' ),
		);
		return $erasers;
	}

	/**
	 * Exports the visitor's tokens that are stored with a person's orders.
	 */
	public static function export( $address, $page = 1 ) {
		$orders = self::find_orders( $address, $page );
		$items  = array();
		foreach ( $orders as $order ) {
			$token = $order->get_meta( Headwater_Orders::TOKEN );
			if ( $token ) {
				$items[] = array(
					'group_id'    => 'woocommerce_orders',
					'group_label' => __( 'Orders', 'headwater-for-woocommerce' ),
					'item_id'     => 'order-' . $order->get_id(),
					'data'        => array(
						array(
							'name'  => __( 'Headwater visitor token', 'headwater-for-woocommerce' ),
							'value' => $token,
						),
					),
				);
			}
		}
		return array(
			'data' => $items,
			'done' => count( $orders ) < self::ORDERS,
		);
	}

	/**
	 * Removes the tokens from a person's orders, and has Headwater erase the person.
	 */
	public static function erase( $address, $page = 1 ) {
		$orders = self::find_orders( $address, $page );
		$result = array(
			'items_removed'  => false,
			'items_retained' => false,
			'messages'       => array(),
			'done'           => count( $orders ) < self::ORDERS,
		);
		foreach ( $orders as $order ) {
			if ( $order->get_meta( Headwater_Orders::TOKEN ) ) {
				$order->delete_meta_data( Headwater_Orders::TOKEN );
				$order->save_meta_data();
				$result['items_removed'] = true;
			}
		}
		return 1 === (int) $page ? self::erase_in_headwater( $address, $result ) : $result;
	}

	/**
	 * Lets WooCommerce's eraser delete the token with an order's other personal data. For this type of
	 * data it stores no replacement.
	 */
	public static function name_personal_data( $meta ) {
		return array_merge( (array) $meta, array( Headwater_Orders::TOKEN => 'numeric_id' ) );
	}

	private static function erase_in_headwater( $address, $result ) {
		if ( ! Headwater_Settings::all()['url'] ) {
			return $result;
		}
		$answer = Headwater_Client::request( 'DELETE', '/contacts/pii?email=' . rawurlencode( $address ) );
		if ( 202 === $answer['status'] ) {
			$result['items_removed'] = true;
		} elseif ( 404 !== $answer['status'] ) {
			$result['items_retained'] = true;
			$result['messages'][]     = self::explain_refusal( $answer );
		}
		return $result;
	}

	private static function explain_refusal( $answer ) {
		if ( 403 === $answer['status'] ) {
			return __( 'Headwater still has this person’s data: the API key lacks the scope contacts:delete. Erase the person in Headwater.', 'headwater-for-woocommerce' );
		}
		/* translators: %s: the reason. */
		return sprintf( __( 'Headwater still has this person’s data. Erase the person in Headwater. Reason: %s', 'headwater-for-woocommerce' ), $answer['reason'] );
	}

	private static function find_orders( $address, $page ) {
		$user = get_user_by( 'email', $address );
		return wc_get_orders(
			array(
				'type'     => 'shop_order',
				'customer' => $user ? array( $address, (int) $user->ID ) : array( $address ),
				'limit'    => self::ORDERS,
				'page'     => $page,
				'orderby'  => 'ID',
				'order'    => 'ASC',
			)
		);
	}
}
