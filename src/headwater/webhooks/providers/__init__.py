"""The types of webhooks: how each sender signs, names what happened, and what is made of it."""

from __future__ import annotations

from headwater.webhooks.providers.calendly import CALENDLY
from headwater.webhooks.providers.generic import GENERIC
from headwater.webhooks.providers.provider import Provider
from headwater.webhooks.providers.shopify import SHOPIFY
from headwater.webhooks.providers.stripe import STRIPE
from headwater.webhooks.providers.woocommerce import WOOCOMMERCE

__all__ = ["PROVIDERS", "Provider"]

PROVIDERS = {
    provider.type: provider for provider in (GENERIC, STRIPE, SHOPIFY, WOOCOMMERCE, CALENDLY)
}
