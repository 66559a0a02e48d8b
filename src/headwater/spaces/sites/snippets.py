"""The snippet that loads the tracker on a site's pages, with instructions for each shop system. Pure."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from html import escape

from msgspec import Struct

from headwater.spaces.sites import shop_code

STUB = (
    "<script>window.trk=window.trk||{q:[]};['identify','track','page','consent'].forEach("
    "function(m){trk[m]=trk[m]||function(){trk.q.push([m,arguments])}})</script>"
)
"""Queues the page's calls until the tracker is loaded."""


TAG_MANAGER_TEMPLATE = "google-tag-manager.tpl"


class ShopSystem(StrEnum):
    HTML = "html"
    TAG_MANAGER = "gtm"
    SHOPIFY = "shopify"
    WOOCOMMERCE = "woocommerce"
    NEXTJS = "nextjs"


TITLES = {
    ShopSystem.HTML: "Plain HTML",
    ShopSystem.TAG_MANAGER: "Google Tag Manager",
    ShopSystem.SHOPIFY: "Shopify",
    ShopSystem.WOOCOMMERCE: "WooCommerce, WordPress",
    ShopSystem.NEXTJS: "Next.js",
}


class Installation(Struct, frozen=True):
    base_url: str
    """An origin."""
    script: str

    @property
    def script_url(self) -> str:
        return f"{self.base_url}{self.script}"


class Snippet(Struct, frozen=True):
    installation: Installation
    site_key: str
    needs_consent: bool = False
    """True if the visitor's consent is required first."""

    @property
    def tag(self) -> str:
        source, key = escape(self.installation.script_url), escape(self.site_key)
        consent = ' data-consent="required"' if self.needs_consent else ""
        return f'<script async src="{source}" data-site="{key}"{consent}></script>'


class Instruction(Struct, frozen=True):
    """One step of connecting a shop. Texts have commands and names in backquotes."""

    title: str
    text: str
    code: str = ""
    file: str = ""
    """The name of a file to download."""


def describe_shop(shop: ShopSystem, snippet: Snippet, *, accepts_amounts: bool) -> list[Instruction]:
    """Return the steps that connect a shop. Without `accepts_amounts`, pages report no orders."""
    steps = _STEPS[shop](snippet, accepts_amounts)
    return [*steps, _CONSENT[shop]] if snippet.needs_consent and shop in _CONSENT else steps


def describe_custom_html(snippet: Snippet, *, accepts_amounts: bool) -> list[Instruction]:
    """Return the steps that connect a shop by Google Tag Manager without the tag template."""
    consent = "\n    tag.setAttribute('data-consent', 'required');" if snippet.needs_consent else ""
    loader = _fill(shop_code.TAG_MANAGER, snippet).replace("__CONSENT__", consent)
    steps = [
        Instruction(
            "Create a tag of the type Custom HTML",
            "With the trigger `Initialization - All Pages`. Tag Manager drops `data-` attributes of"
            " script tags, so a few lines create the tag.",
            loader,
        ),
        Instruction(
            "Identify the visitor",
            "Another Custom HTML tag, on the event that your data layer has for a login or an"
            " order. `{{DLV - email}}` is one of your data layer variables.",
            shop_code.TAG_MANAGER_IDENTIFY,
        ),
    ]
    if accepts_amounts:
        steps.append(
            Instruction(
                "Report the order",
                "On the event `purchase`, with variables of your data layer.",
                shop_code.TAG_MANAGER_ORDER,
            )
        )
    if snippet.needs_consent:
        steps.append(_granting(shop_code.CONSENT, "On the event of your consent banner."))
    return steps


def _html(snippet: Snippet, accepts_amounts: bool) -> list[Instruction]:
    steps = [
        Instruction(
            "Put the snippet into the head of every page",
            "Best right after `<head>`, also on the checkout and thank-you pages. The first"
            " line queues calls until the tracker is loaded.",
            f"{STUB}\n{snippet.tag}",
        ),
        Instruction(
            "Identify the visitor",
            "On every page where the shop knows it: after a login, a sign-up, an order. One of the"
            " fields is enough.",
            shop_code.IDENTIFY,
        ),
        _server_order(snippet),
    ]
    return [*steps, _PAGE_ORDER] if accepts_amounts else steps


def _tag_manager(snippet: Snippet, accepts_amounts: bool) -> list[Instruction]:
    steps = [
        Instruction(
            "Import the tag template",
            "In Tag Manager, under Templates, Tag Templates, New, ⋮, Import, choose this file and save.",
            file=TAG_MANAGER_TEMPLATE,
        ),
        Instruction(
            "Load the tracker",
            "Tags, New, `Headwater`, with the trigger `Initialization - All Pages` and these fields."
            " Submit the container once you have added the tags below.",
            _fill(shop_code.TAG_MANAGER_FIELDS, snippet).replace("__CONSENT__", _consent_source(snippet)),
        ),
        Instruction(
            "Identify the visitor",
            "A tag of the type `Identify the visitor` on the event that your data layer has for a login"
            " or an order, with variables of your data layer. One of its fields is enough.",
        ),
        _server_order(snippet),
    ]
    if accepts_amounts:
        steps.append(
            Instruction(
                "Or report the order by Tag Manager",
                "A tag of the type `Report an event` on the event `purchase`, with variables of your data"
                " layer. An order that the server reports with the same `order_id` replaces it.",
            )
        )
    return steps


def _consent_source(snippet: Snippet) -> str:
    return "Follow Consent Mode" if snippet.needs_consent else "Do not wait for consent"


def _shopify(snippet: Snippet, _: bool) -> list[Instruction]:
    return [
        Instruction(
            "Add a snippet to the theme",
            "Online Store, Themes, Edit code, Snippets: add `headwater` and paste this. It loads the"
            " tracker, puts the visitor's token into the cart, and so into the order, identifies customers"
            " who are logged in, and follows Shopify's consent banner. For full trust, sign identities: see"
            " Tracker in the documentation.",
            _fill_shopify(snippet),
        ),
        Instruction(
            "Render it on every page",
            "In `layout/theme.liquid`, right before `</head>`.",
            shop_code.SHOPIFY_LAYOUT,
        ),
        Instruction(
            "Checkout: have Shopify report the order",
            "Settings, Notifications, Webhooks: `Order payment`, as JSON, to the address that"
            " `Shop and payments` gives you. The order carries the token from the cart, so it is tied to"
            " the visit. An order without a cart has no token: the custom pixel (see Shopify in the"
            " documentation) reports whose checkout it was.",
        ),
    ]


def _woocommerce(snippet: Snippet, _: bool) -> list[Instruction]:
    return [
        Instruction(
            "Use the plugin, or the steps below",
            "The plugin does all of this, and also reports refunds and past orders: see WooCommerce in the"
            " documentation.",
        ),
        Instruction(
            "Put the snippet into the theme",
            "Into `functions.php` of your child theme, or a plugin for code snippets. It puts the"
            " tag into the head of every page and identifies logged-in users. Empty the page cache.",
            _fill(shop_code.WORDPRESS, snippet),
        ),
        Instruction(
            "Keep the visitor's token with the order",
            "Below it: the first hook is for the classic checkout, the second for the block checkout.",
            shop_code.WOOCOMMERCE_ORDER,
        ),
        Instruction(
            "Have WooCommerce report the order",
            "WooCommerce, Settings, Advanced, Webhooks: topic `Order updated`, to the address and"
            " with the secret that `Shop and payments` gives you. The token is in the order's meta data.",
        ),
    ]


def _nextjs(snippet: Snippet, accepts_amounts: bool) -> list[Instruction]:
    consent = ' data-consent="required"' if snippet.needs_consent else ""
    steps = [
        Instruction(
            "Put the snippet into the root layout",
            "Into `app/layout.tsx`. Page changes inside the app are reported automatically.",
            _fill(shop_code.NEXTJS_LAYOUT, snippet).replace("__CONSENT__", consent),
        ),
        Instruction(
            "Identify the visitor",
            "A client component, on every page where the app knows it.",
            shop_code.NEXTJS_IDENTIFY,
        ),
        Instruction(
            "Report the order from the server",
            "In the server action or route that takes the order. The cookie `trk_token` ties it to"
            " the visit. The key is an API key with the scope `events:write`.",
            _fill(shop_code.NEXTJS_ORDER, snippet),
        ),
    ]
    return [*steps, _PAGE_ORDER] if accepts_amounts else steps


def _server_order(snippet: Snippet) -> Instruction:
    return Instruction(
        "Report the order from your server",
        "With an API key that has the scope `events:write`, or by a webhook of your shop. The"
        " `trk_token` ties the order to the visit: your server has it as a cookie of that name, and"
        " a page as `trkToken()`.",
        _fill(shop_code.SERVER_ORDER, snippet),
    )


_PAGE_ORDER = Instruction(
    "Or report the order from the thank-you page",
    "It is simpler, but anyone can send any amount. An order that the server reports with"
    " the same `order_id` replaces it.",
    shop_code.PAGE_ORDER,
)


def _fill(code: str, snippet: Snippet) -> str:
    values = {
        "__TAG__": snippet.tag,
        "__STUB__": STUB,
        "__STUB_SCRIPT__": STUB.removeprefix("<script>").removesuffix("</script>"),
        "__SCRIPT__": snippet.installation.script_url,
        "__PATH__": snippet.installation.script,
        "__BASE__": snippet.installation.base_url,
        "__KEY__": snippet.site_key,
    }
    for name, value in values.items():
        code = code.replace(name, value)
    return code


def _fill_shopify(snippet: Snippet) -> str:
    consent = ' data-consent="{{ headwater_consent | escape }}"'
    values = {
        "{{ headwater_address | escape }}/t.js": escape(snippet.installation.script_url),
        "{{ headwater_site | escape }}": escape(snippet.site_key),
        consent: consent.replace("{{ headwater_consent | escape }}", "managed")
        if snippet.needs_consent
        else "",
    }
    code = shop_code.SHOPIFY_SNIPPET
    for name, value in values.items():
        code = code.replace(name, value)
    return code


def _granting(code: str, place: str) -> Instruction:
    return Instruction(
        "Report the visitor's decision",
        f"{place} Until then nothing is sent and nothing is stored; `trk.consent(false)` deletes"
        " what was stored.",
        code,
    )


# Shopify's snippet follows the banner itself.
_CONSENT: dict[ShopSystem, Instruction] = {
    ShopSystem.HTML: _granting(shop_code.CONSENT, "Where your consent banner handles an acceptance."),
    ShopSystem.TAG_MANAGER: Instruction(
        "Without Consent Mode: pass on the visitor's decision",
        "If your banner does not support Consent Mode, choose `Wait for a tag that passes on consent` as"
        " Consent, and add a tag of the type `Pass on consent` on the banner's event.",
    ),
    ShopSystem.WOOCOMMERCE: _granting(
        shop_code.CONSENT, "In the code that your consent plugin runs after an acceptance."
    ),
    ShopSystem.NEXTJS: _granting(
        shop_code.NEXTJS_CONSENT, "In the component of your consent banner, after an acceptance."
    ),
}

_STEPS: dict[ShopSystem, Callable[[Snippet, bool], list[Instruction]]] = {
    ShopSystem.HTML: _html,
    ShopSystem.TAG_MANAGER: _tag_manager,
    ShopSystem.SHOPIFY: _shopify,
    ShopSystem.WOOCOMMERCE: _woocommerce,
    ShopSystem.NEXTJS: _nextjs,
}
