"""No name contains the control characters of the specification: 0x00 to 0x1f and 0x7f."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from headwater.assistants.oauth.clients import check_client_name
from headwater.attribution.trained_models.choice import PLAIN_NAME
from headwater.http.errors import Invalid
from headwater.spaces.accounts.users import read_label
from headwater.spaces.settings_input import read_name

READERS: dict[str, Callable[[str], object]] = {
    "token": lambda text: read_label("name", text),
    "client": lambda text: check_client_name(text, "Headwater"),
    "space": read_name,
    "trained_model": PLAIN_NAME.read,
}
FORBIDDEN = [*range(0x20), 0x7F]


@pytest.mark.parametrize("reader", READERS)
def test_it_works(reader: str) -> None:
    for code in range(0x180):
        name = f"a{chr(code)}b"
        if code in FORBIDDEN:
            with pytest.raises((Invalid, ValueError)):
                READERS[reader](name)
        else:
            READERS[reader](name)
