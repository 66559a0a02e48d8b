"""The lists of an account's campaigns and ads are fetched once per pull, however many reports need them."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.pulls.books import AdPlace, Books
from tests.pulls.checks import Subject, check_books, is_token_request, serve_platform
from tests.pulls.linkedin.test_linkedin import LINKEDIN
from tests.pulls.pinterest.test_pinterest import PINTEREST
from tests.pulls.snapchat.test_snapchat import SNAPCHAT
from tests.pulls.staging import TODAY, Pulls

HISTORY = {"pinterest": 89}
"""Days of history, if it isn't 13 months."""


@pytest.mark.parametrize(
    ("subject", "requests"),
    [(LINKEDIN, 36), (PINTEREST, 85), (SNAPCHAT, 32)],
    ids=lambda value: value.platform if isinstance(value, Subject) else None,
)
def test_it_works(pulls: Pulls, subject: Subject, requests: int) -> None:
    """13 months of 500 campaigns, with an ad each."""
    books, days = Books(timezone="Europe/Berlin"), HISTORY.get(subject.platform, 396)
    for number in range(500):
        ad_place = AdPlace(*(f"{level * 10**17 + number}" for level in (1, 2, 3)))
        books.spend(TODAY - timedelta(days=number % days), ad_place, "1.00")
    with serve_platform(pulls, subject, subject.pretend(books)) as platform:
        subject.connect(pulls)
        pulls.pull()
    targets = [request.target for request in platform.requests if not is_token_request(request)]
    assert len(targets) == len(set(targets)) == requests
    check_books(pulls, books)
