"""The product's reports against the model's, in the middle of random histories and at their end.

`HEADWATER_HISTORIES=10000` makes it a long run.
"""

from __future__ import annotations

import os
import time

from tests.reports.court import Court
from tests.reports.faults import FAULTS

HISTORIES = int(os.environ.get("HEADWATER_HISTORIES", "0"))
USUALLY = 300
SECONDS = 45
"""An ordinary run ends then, however few it has judged; a long one when it has judged them all."""


def test_it_works(court: Court) -> None:
    if not HISTORIES:
        court.until = time.monotonic() + SECONDS
    court.judge_many(HISTORIES or USUALLY)
    assert court.judged > 0


def test_a_fault_of_any_kind_is_found(court: Court) -> None:
    assert court.missed_faults(FAULTS) == set()
