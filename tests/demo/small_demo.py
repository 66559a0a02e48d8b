"""`headwater demo` with few visitors without an order: it shows everything, in less time."""

import sys

from msgspec.structs import replace

from headwater.demo import shops
from tests.demo.share import SHARE

shops.SHOPS = tuple(replace(shop, passers_by=shop.passers_by // SHARE) for shop in shops.SHOPS)

from headwater.cli import main  # noqa: E402 # with the smaller shops

sys.exit(main())
