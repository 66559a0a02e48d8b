/* Headwater as a custom pixel of Shopify: Settings, Customer events, Add custom pixel. Set the two
 * values below, and the permission to “Analytics”.
 *
 * The theme's tracker does not run in the checkout. This pixel does: it connects a checkout with its
 * visit, also without a cart (“Buy it now”). Shopify runs it in a frame without an origin, so the
 * site needs the origin `null`. Amounts come from the signed webhook, because browsers can't be
 * trusted.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
const HEADWATER = 'https://hw.shop.example/t';
const SITE = 'trk_pk_…';

const TRIES = 3;

const uuid = () => {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 15) | 64;
  bytes[8] = (bytes[8] & 63) | 128;
  const digits = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
};

/* Retry a report that could not be sent; its key makes it count once. */
const send = async (body, tried = 1) => {
  try {
    // Without an origin the response can't be read; any response means that the report arrived.
    await fetch(HEADWATER, { method: 'POST', mode: 'no-cors', keepalive: true, body: body });
  } catch (error) {
    if (tried === TRIES) return;
    await new Promise((resolve) => setTimeout(resolve, 1000 * tried * tried));
    await send(body, tried + 1);
  }
};

/* Ad platforms are third parties: both marketing and the sale of data must be allowed. */
const adConsent = () => {
  const privacy = init.customerPrivacy;
  if (!privacy) return {};
  const ads = privacy.marketingAllowed && privacy.saleOfDataAllowed !== false;
  return { ad_user_data: ads, ad_personalization: ads };
};

/* The token is a cookie of the shop, set only with the visitor's consent. */
const report = async (items) => {
  const token = await browser.cookie.get('trk_token');
  if (!token || !items.length) return;
  await send(JSON.stringify({
    site: SITE,
    token: token,
    consent: adConsent(),
    items: items.map((item) => ({ key: uuid(), ago: 0, ...item }))
  }));
};

/* The person of a checkout, if known. */
const person = (checkout) => {
  const address = checkout.billingAddress || checkout.shippingAddress || {};
  const known = {
    email: checkout.email,
    phone: checkout.phone || address.phone,
    first_name: address.firstName,
    last_name: address.lastName
  };
  Object.keys(known).forEach((name) => known[name] || delete known[name]);
  return known.email || known.phone ? [{ type: 'identify', ...known }] : [];
};

analytics.subscribe('checkout_contact_info_submitted', (event) => report(person(event.data.checkout)));

analytics.subscribe('checkout_completed', (event) => {
  const checkout = event.data.checkout;
  // The order's number, without Shopify's id prefix.
  const number = /(\d+)$/.exec(checkout.order && checkout.order.id || '');
  const purchase = {
    type: 'event',
    event_name: 'purchase',
    order_id: number ? number[1] : undefined,
    checkout_token: checkout.token || undefined,
    url: event.context.document.location.href
  };
  return report(person(checkout).concat(number ? purchase : []));
});
