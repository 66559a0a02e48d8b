"""Code for shops, with `__NAMES__` as placeholders for values of the installation and the site."""

from __future__ import annotations

from pathlib import Path

IDENTIFY = """\
<script>
  trk.identify({ email: 'anna@example.com', tracking_id: 'customer-17' });
</script>"""

PAGE_ORDER = """\
<script>
  trk.track('purchase', { order_id: '1001', amount: 89.5, currency: 'EUR' });
</script>"""

CONSENT = """\
<script>
  trk.consent(true);
</script>"""

SERVER_ORDER = """\
curl -X POST __BASE__/public-api/v1/events/track \\
  -H 'Authorization: Bearer YOUR_KEY' -H 'Content-Type: application/json' \\
  -d '{"event_name": "purchase", "order_id": "1001", "amount": 89.5, "currency": "EUR",
       "email": "anna@example.com", "trk_token": "THE_TOKEN"}'"""

TAG_MANAGER_FIELDS = """\
Tag type: Load the tracker
Address: __BASE__
Tracker path: __PATH__
Site key: __KEY__
Consent: __CONSENT__"""

TAG_MANAGER = """\
__STUB__
<script>
  (function () {
    var tag = document.createElement('script');
    tag.async = true;
    tag.src = '__SCRIPT__';
    tag.setAttribute('data-site', '__KEY__');__CONSENT__
    document.head.appendChild(tag);
  })();
</script>"""

TAG_MANAGER_IDENTIFY = """\
<script>
  trk.identify({ email: {{DLV - email}} });
</script>"""

TAG_MANAGER_ORDER = """\
<script>
  trk.track('purchase', {
    order_id: {{DLV - ecommerce.transaction_id}},
    amount: {{DLV - ecommerce.value}},
    currency: {{DLV - ecommerce.currency}}
  });
</script>"""

_SHOPIFY_FILE = Path(__file__).with_name("headwater.liquid").read_text("utf-8")
SHOPIFY_SNIPPET = _SHOPIFY_FILE[_SHOPIFY_FILE.index("<script>") :]
"""Without the comment and the three values at the top."""

SHOPIFY_LAYOUT = """\
{% render 'headwater', cart: cart, customer: customer %}"""

WORDPRESS = """\
add_action( 'wp_head', function () { ?>
__STUB__
__TAG__
<?php
    $user = wp_get_current_user();
    if ( $user->exists() ) {
        $person = array( 'email' => $user->user_email, 'tracking_id' => (string) $user->ID );
        echo '<script>trk.identify(' . wp_json_encode( $person ) . ')</script>';
    }
}, 1 );"""

WOOCOMMERCE_ORDER = """\
function keep_trk_token( $order ) {
    if ( ! empty( $_COOKIE['trk_token'] ) ) {
        $token = sanitize_text_field( wp_unslash( $_COOKIE['trk_token'] ) );
        $order->update_meta_data( 'trk_token', $token );
    }
}
add_action( 'woocommerce_checkout_create_order', 'keep_trk_token' );
add_action( 'woocommerce_store_api_checkout_update_order_meta', 'keep_trk_token' );"""

NEXTJS_LAYOUT = """\
import Script from 'next/script'

export default function RootLayout({ children }: { children: React.ReactNode }) {
  return (
    <html lang="en">
      <body>
        <Script id="trk-calls" strategy="beforeInteractive">
          {`__STUB_SCRIPT__`}
        </Script>
        <Script src="__SCRIPT__" data-site="__KEY__"__CONSENT__ />
        {children}
      </body>
    </html>
  )
}"""

NEXTJS_IDENTIFY = """\
'use client'
import { useEffect } from 'react'

export function Identify({ email, id }: { email: string; id: string }) {
  useEffect(() => {
    ;(window as any).trk.identify({ email, tracking_id: id })
  }, [email, id])
  return null
}"""

NEXTJS_ORDER = """\
import { cookies } from 'next/headers'

await fetch('__BASE__/public-api/v1/events/track', {
  method: 'POST',
  headers: {
    Authorization: `Bearer ${process.env.HEADWATER_KEY}`,
    'Content-Type': 'application/json',
  },
  body: JSON.stringify({
    event_name: 'purchase', order_id: order.id, amount: order.total, currency: order.currency,
    email: order.email, trk_token: (await cookies()).get('trk_token')?.value,
  }),
})"""

NEXTJS_CONSENT = """\
;(window as any).trk.consent(true)"""
