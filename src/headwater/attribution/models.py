"""The eight models as a table: which touches of a path count, and what each is credited.

A model either picks one touch, which gets everything, or spreads the amount over all that count.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from psycopg.sql import SQL, Composable

from headwater.sources.catalogue import DIRECT_ID, PAID_IDS

WINDOWS = (0, 1, 7, 14, 30, 60, 90)
"""Lookback windows in days; 0 looks back over the whole path."""

# Conditions on a touch `t`.
ANY = SQL("true")
PAID = SQL("t.source_id = ANY({})").format(PAID_IDS)
NOT_DIRECT = SQL("t.source_id <> {}").format(DIRECT_ID)


@dataclass(frozen=True)
class CreditShare:
    """What a row `c` gets, which has the touch's `place` among `touches`."""

    credit: SQL
    """Of its event's `amount`."""
    units: SQL
    """Of a whole number of units, `{units}`: a whole number, and all of them add up. A credit is
    this of the amount's units.
    """


WHOLE = CreditShare(SQL("c.amount"), SQL("{units}"))
LINEAR = CreditShare(
    SQL("linear_credit(c.amount, c.place, c.touches)"),
    SQL("linear_units({units}, c.place, c.touches)"),
)
U_SHAPED = CreditShare(
    SQL("u_shaped_credit(c.amount, c.place, c.touches)"),
    SQL("u_shaped_units({units}, c.place, c.touches)"),
)


class CreditedTouches(Enum):
    """Which of the touches that count a model credits."""

    FIRST = "first"
    LAST = "last"
    EACH = "each"


@dataclass(frozen=True)
class Model:
    """How one model shares out an amount."""

    take: CreditedTouches
    share: CreditShare
    counting: tuple[Composable, ...] = (ANY,)
    """Which touches count; each condition only where those before it find no touch."""

    @property
    def credit(self) -> SQL:
        """What a row `c` gets of its event's `amount`."""
        return self.share.credit


MODELS = {
    "first_touch": Model(CreditedTouches.FIRST, WHOLE),
    "last_touch": Model(CreditedTouches.LAST, WHOLE),
    "linear": Model(CreditedTouches.EACH, LINEAR),
    "first_platform_touch": Model(CreditedTouches.FIRST, WHOLE, (PAID,)),
    "last_platform_touch": Model(CreditedTouches.LAST, WHOLE, (PAID,)),
    "linear_paid": Model(CreditedTouches.EACH, LINEAR, (PAID,)),
    "u_shaped": Model(CreditedTouches.EACH, U_SHAPED),
    "last_non_direct_touch": Model(CreditedTouches.LAST, WHOLE, (NOT_DIRECT, ANY)),
}
