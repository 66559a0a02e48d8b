"""The models as a table: the touches of a path that count, and their credit.

A model either picks one touch, which gets everything, or shares the amount among all that count.
"""

from __future__ import annotations

from enum import Enum

from msgspec import Struct
from psycopg.sql import SQL, Composable, Identifier

from headwater.sources.catalogue import ALL_IDS, DIRECT_ID, LISTED_PAID_IDS, PAID_IDS
from headwater.sources.networks import FIRST_NUMBER

WINDOWS = (0, 1, 7, 14, 30, 60, 90)
"""Lookback windows in days; 0 means the whole path."""


BILLION = 10**9
MARKOV, SHAPLEY = "markov", "shapley_distinct"
DATA_DRIVEN_MODELS = (MARKOV, SHAPLEY)
FEWEST_CONVERSIONS = 300
"""With a touchpoint, to train a model. With fewer, intervals are too wide for weights to be meaningful."""


class CountingTouches(Struct, frozen=True):
    """The touches that count for a model, by source."""

    sql: Composable
    """A condition on a touch `t`."""
    source_ids: frozenset[int]


_EVERY_ID = frozenset(ALL_IDS)
ANY = CountingTouches(SQL("true"), _EVERY_ID)
PAID = CountingTouches(
    SQL("(t.source_id = ANY({}) OR t.source_id >= {})").format(LISTED_PAID_IDS, FIRST_NUMBER),
    frozenset(PAID_IDS),
)
NOT_DIRECT = CountingTouches(SQL("t.source_id <> {}").format(DIRECT_ID), _EVERY_ID - {DIRECT_ID})
TRAINED_WEIGHT = SQL("(%(source_weights)s::bigint[])[t.source_id]")
"""The trained weight of a touch's source."""
WEIGHTED = CountingTouches(SQL("{} > 0").format(TRAINED_WEIGHT), _EVERY_ID)


# Three page views, two from campaigns, and a purchase of 100.00 with its credits. G and M are paid, D is
# direct. A touch's place counts only eligible touches:
#
#     place                      1 (G)     2 (M)     3 (D)
#                                10:00     10:20     11:30     purchase at 12:00
#     first_touch               100.00
#     last_touch                                    100.00
#     linear                     33.34     33.33     33.33     the first gets the remaining cent
#     u_shaped                   40.00     20.00     40.00
#     time_decay                 33.25     33.30     33.45     by age, see credits.py
#     markov                     60.00     30.00     10.00     trained weights 0.6, 0.3, 0.1
#     shapley_distinct           33.34     33.33     33.33     by distinct source, see shares.py
#     first_platform_touch      100.00                         D doesn't count, nor in the next two
#     last_platform_touch                 100.00
#     linear_paid                50.00     50.00
#     last_non_direct_touch               100.00               D counts only without other touches
#
# Sources filter rows, never credits: filtered by M, linear still gives 33.33.


class Spread(Enum):
    WHOLE = "whole"
    LINEAR = "linear"
    U_SHAPED = "u_shaped"
    BY_AGE = "by_age"
    BY_SOURCE = "by_source"


class SharedAmount(Enum):
    """An amount to share; the value prefixes its columns."""

    OWN = ""
    IN_SPACE_CURRENCY = "space_"

    def column(self, name: str) -> Identifier:
        return Identifier(f"{self.value}{name}")


class CreditShare(Struct, frozen=True):
    """The share of a row `c`, which has the touch's `place` among `touches`."""

    spread: Spread
    units: SQL | None = None
    """An expression for the share of `{units}`, a whole number. None if it depends on all touches of the
    path; the row then has it as `share`.
    """

    def share_credit(self, amount: SharedAmount) -> Composable:
        """Return the share of an amount: the share of its `units` times the value of a unit, `step`."""

        def column(name: str) -> Composable:
            return SQL("c.{}").format(amount.column(name))

        if self.spread is Spread.WHOLE:
            return column("amount")
        share = self.units.format(units=column("units")) if self.units else column("share")
        return SQL("({} * {})").format(share, column("step"))


WHOLE_CREDIT = CreditShare(Spread.WHOLE, SQL("{units}"))
LINEAR = CreditShare(Spread.LINEAR, SQL("linear_units({units}, c.place, c.touches)"))
U_SHAPED = CreditShare(Spread.U_SHAPED, SQL("u_shaped_units({units}, c.place, c.touches)"))
BY_AGE = CreditShare(Spread.BY_AGE)
BY_SOURCE = CreditShare(Spread.BY_SOURCE)


class CreditedTouches(Enum):
    FIRST = "first"
    LAST = "last"
    EACH = "each"


class Model(Struct, frozen=True):
    title: str
    description: str
    """One or two sentences for users and assistants."""
    take: CreditedTouches
    share: CreditShare
    counting: tuple[CountingTouches, ...] = (ANY,)
    """Each applies only if earlier ones find no touch."""
    needs_training: bool = False
    """True if it uses trained weights of sources."""

    @property
    def goes_by_age(self) -> bool:
        """True if credit depends on time between touches."""
        return self.share.spread is Spread.BY_AGE

    @property
    def is_weighted(self) -> bool:
        """True if shares depend on weights, rarely simple fractions."""
        return self.share.spread in (Spread.BY_AGE, Spread.BY_SOURCE)

    @property
    def credit(self) -> Composable:
        """A row `c`'s part of the event's `amount`."""
        return self.share.share_credit(SharedAmount.OWN)


MODELS = {
    "first_touch": Model(
        "First touch",
        "All credit to the first touchpoint in the window.",
        CreditedTouches.FIRST,
        WHOLE_CREDIT,
    ),
    "last_touch": Model(
        "Last touch",
        "All credit to the last touchpoint in the window, direct visits included.",
        CreditedTouches.LAST,
        WHOLE_CREDIT,
    ),
    "linear": Model("Linear", "The same credit for every touchpoint.", CreditedTouches.EACH, LINEAR),
    "first_platform_touch": Model(
        "First paid touch",
        "All credit to the first touchpoint from a paid source.",
        CreditedTouches.FIRST,
        WHOLE_CREDIT,
        (PAID,),
    ),
    "last_platform_touch": Model(
        "Last paid touch",
        "All credit to the last touchpoint from a paid source.",
        CreditedTouches.LAST,
        WHOLE_CREDIT,
        (PAID,),
    ),
    "linear_paid": Model(
        "Linear paid",
        "The same credit for every touchpoint from a paid source, and no credit for others.",
        CreditedTouches.EACH,
        LINEAR,
        (PAID,),
    ),
    "u_shaped": Model(
        "U-shaped",
        "40 % to the first touchpoint, 40 % to the last, 20 % shared by those between.",
        CreditedTouches.EACH,
        U_SHAPED,
    ),
    "time_decay": Model(
        "Time decay",
        "Each touchpoint gets half the credit of one that is a half-life later (the Space's half_life_days).",
        CreditedTouches.EACH,
        BY_AGE,
    ),
    MARKOV: Model(
        "Markov",
        "Each distinct source gets credit by its weight: the share of the Space's conversions that would be "
        "lost without it. Needs a trained model.",
        CreditedTouches.EACH,
        BY_SOURCE,
        (WEIGHTED,),
        needs_training=True,
    ),
    SHAPLEY: Model(
        "Shapley distinct",
        "The same credit for every distinct source, however often it was visited.",
        CreditedTouches.EACH,
        BY_SOURCE,
    ),
    "last_non_direct_touch": Model(
        "Last non-direct touch",
        "All credit to the last touchpoint except direct visits, or to a direct visit if there is no other.",
        CreditedTouches.LAST,
        WHOLE_CREDIT,
        (NOT_DIRECT, ANY),
    ),
}
