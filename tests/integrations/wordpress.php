<?php
/**
 * As much of WordPress as the plugin calls, in memory: hooks, options, escaping, and real requests.
 */

const ABSPATH          = __DIR__;
const HOUR_IN_SECONDS   = 3600;
const MINUTE_IN_SECONDS = 60;

error_reporting( E_ALL );
set_error_handler(
	function ( $level, $message, $file, $line ) {
		throw new ErrorException( $message, 0, $level, $file, $line );
	}
);

$GLOBALS['hooks']   = array();
$GLOBALS['options'] = array();
$GLOBALS['notices'] = array();

function add_action( $name, $function, $priority = 10, $count = 1 ) {
	$GLOBALS['hooks'][ $name ][] = array( $function, $count );
}

function add_filter( $name, $function, $priority = 10, $count = 1 ) {
	add_action( $name, $function, $priority, $count );
}

function do_action( $name, ...$arguments ) {
	foreach ( $GLOBALS['hooks'][ $name ] ?? array() as list( $function, $count ) ) {
		call_user_func_array( $function, array_slice( $arguments, 0, $count ) );
	}
}

function apply_filters( $name, $value ) {
	foreach ( $GLOBALS['hooks'][ $name ] ?? array() as list( $function ) ) {
		$value = call_user_func( $function, $value );
	}
	return $value;
}

function get_option( $name, $default = false ) {
	return $GLOBALS['options'][ $name ] ?? $default;
}

function update_option( $name, $value ) {
	$GLOBALS['options'][ $name ] = apply_filters( "sanitize_option_$name", $value );
}

function delete_option( $name ) {
	unset( $GLOBALS['options'][ $name ] );
}

// Text.

function __( $text ) {
	return $text;
}

function plugin_basename( $file ) {
	return basename( dirname( $file ) ) . '/' . basename( $file );
}

function __return_true() {
	return true;
}

function esc_html( $text ) {
	return htmlspecialchars( (string) $text, ENT_QUOTES );
}

function esc_attr( $text ) {
	return htmlspecialchars( (string) $text, ENT_QUOTES );
}

function esc_html__( $text ) {
	return esc_html( $text );
}

function esc_url_raw( $text ) {
	return filter_var( $text, FILTER_SANITIZE_URL );
}

function wp_unslash( $value ) {
	return is_string( $value ) ? stripslashes( $value ) : $value;
}

function untrailingslashit( $text ) {
	return rtrim( $text, '/' );
}

function wp_parse_url( $text, $part = -1 ) {
	return parse_url( $text, $part );
}

function wp_json_encode( $value, $flags = 0 ) {
	return json_encode( $value, $flags );
}

function home_url() {
	return 'https://shop.example/store';
}

// Pages.

function wp_print_inline_script_tag( $script ) {
	echo "<script>\n$script\n</script>\n";
}

function wp_print_script_tag( $attributes ) {
	$written = '';
	foreach ( $attributes as $name => $value ) {
		$written .= true === $value ? " $name" : sprintf( ' %s="%s"', $name, esc_attr( $value ) );
	}
	echo "<script$written></script>\n";
}

function wp_get_current_user() {
	return $GLOBALS['current_user'];
}

class WP_User {
	public $ID = 0;
	public $user_email;

	public function exists() {
		return 0 !== $this->ID;
	}
}

function register_setting( $group, $name, $arguments ) {
	$GLOBALS['hooks'][ "sanitize_option_$name" ] = array( array( $arguments['sanitize_callback'], 1 ) );
}

function add_submenu_page( $parent, $title, $menu, $capability, $slug, $function ) {
	add_action( "{$parent}_page_$slug", $function );
}

function settings_fields() {
	echo '<input type="hidden" name="_wpnonce" value="n">';
}

function settings_errors() {
	foreach ( $GLOBALS['notices'] as $notice ) {
		echo '<p>' . esc_html( $notice ) . '</p>';
	}
}

function wp_add_privacy_policy_content( $name, $text ) {
	$GLOBALS['policy'] = $text;
}

function add_settings_error( $setting, $code, $message ) {
	$GLOBALS['notices'][] = $message;
}

function get_user_by() {
	return false;
}

function get_post_type() {
	return '';
}

function admin_url( $path ) {
	return "https://shop.example/wp-admin/$path";
}

function esc_url( $text ) {
	return esc_attr( $text );
}

function wp_nonce_field() {
	settings_fields();
}

function number_format_i18n( $number ) {
	return number_format( $number );
}

function wp_list_filter( $rows, $wanted ) {
	return array_filter(
		$rows,
		function ( $row ) use ( $wanted ) {
			return array_intersect_assoc( $wanted, $row ) === $wanted;
		}
	);
}

function checked( $value, $current ) {
	return $value === $current ? " checked='checked'" : '';
}

function submit_button() {
	echo '<input type="submit">';
}

// Requests.

class WP_Error {
	private $message;

	public function __construct( $message ) {
		$this->message = $message;
	}

	public function get_error_message() {
		return $this->message;
	}
}

function is_wp_error( $value ) {
	return $value instanceof WP_Error;
}

function wp_remote_request( $url, $arguments ) {
	$headers = array( 'Connection: close' );
	foreach ( $arguments['headers'] as $name => $value ) {
		$headers[] = "$name: $value";
	}
	$http = array(
		'method'        => $arguments['method'],
		'header'        => $headers,
		'content'       => $arguments['body'],
		'timeout'       => $arguments['timeout'],
		'ignore_errors' => true,
	);
	try {
		$body = file_get_contents( $url, false, stream_context_create( array( 'http' => $http ) ) );
	} catch ( ErrorException $error ) {
		return new WP_Error( 'Connection refused' );
	}
	return array( $http_response_header, $body );
}

function wp_remote_retrieve_body( $response ) {
	return $response[1];
}

function wp_remote_retrieve_response_code( $response ) {
	return (int) explode( ' ', $response[0][0] )[1];
}

function wp_remote_retrieve_header( $response, $name ) {
	foreach ( $response[0] as $line ) {
		if ( 0 === stripos( $line, "$name:" ) ) {
			return trim( substr( $line, strlen( $name ) + 1 ) );
		}
	}
	return '';
}

/** Answers the backfill's two queries from its rows. */
class Database {
	public $posts = 'wp_posts';
	private $rows = array();

	public function replace( $table, $row ) {
		$this->rows[ $row['ID'] ] = $row;
	}

	public function prepare( $sql, $values ) {
		return vsprintf( str_replace( '%i', '%s', $sql ), $values );
	}

	public function get_var( $sql ) {
		return count( $this->find_ids( $sql ) );
	}

	public function get_col( $sql ) {
		return array_slice( $this->find_ids( $sql ), 0, (int) substr( $sql, strrpos( $sql, ' ' ) ) );
	}

	private function find_ids( $sql ) {
		preg_match( '/IN \(([^)]*)\) AND id > ([0-9]+)/', $sql, $condition );
		$statuses = explode( ', ', $condition[1] );
		$found    = array();
		foreach ( $this->rows as $id => $row ) {
			if ( $id > (int) $condition[2] && 'shop_order' === $row['post_type'] && in_array( $row['post_status'], $statuses, true ) ) {
				$found[] = $id;
			}
		}
		sort( $found );
		return $found;
	}
}

$GLOBALS['wpdb'] = new Database();
