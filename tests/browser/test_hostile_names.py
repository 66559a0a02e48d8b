"""Names that contain markup, on every page of the console in a real browser."""

from __future__ import annotations

from collections.abc import Callable

from psycopg import AsyncConnection, Connection

from headwater.spaces.accounts import invitations, tokens
from headwater.spaces.accounts.roles import Role
from headwater.spaces.accounts.tokens import NewToken
from headwater.spaces.accounts.users import User
from headwater.spaces.keys import create_key
from headwater.spaces.settings_input import read_changes
from headwater.spaces.spaces import change_space
from tests.browser.test_console import PAGES, PAYLOADS, Visit, squeeze
from tests.browser.test_console import visit as visit  # noqa: PLC0414 # a fixture
from tests.console.conftest import accounts, console, passwords  # noqa: F401 # fixtures
from tests.support.accounts import Accounts
from tests.support.campaigns import pick_share
from tests.support.factories import Stage


def plant(accounts: Accounts, stage: Stage, user: User, texts: list[str]) -> None:  # noqa: F811
    """Store each of at most NAMES texts as every kind of name that a Space may have several of."""
    labels = {f"event_label.custom_event_{n}": text for n, text in enumerate(texts, 1)}
    labels |= {f"field_label.profile_field_{n}": text for n, text in enumerate(texts, 1)}

    async def act(connection: AsyncConnection) -> None:
        await change_space(connection, stage.space_id, read_changes(labels))
        for number, text in enumerate(texts):
            await create_key(connection, stage.space_id, text, ["events:read"])
            new = NewToken(user.id, "personal", text), NewToken(user.id, "oauth", text, text)
            for new_token in new:
                await tokens.issue_token(connection, stage.space_id, new_token)
            address = f"{number}@example.com"
            await invitations.invite(connection, stage.space_id, address, Role.ADMIN, user.id)
            await connection.execute(
                "UPDATE invitations SET email = %s WHERE space_id = %s AND email = %s",
                (text, stage.space_id, address),
            )

    accounts.run(act)
    for number, text in enumerate(texts, 1):
        stage.event(stage.contact(), event_name=f"custom_event_{number}", event_time="now")
        stage.connection.execute(
            "INSERT INTO sites (space_id, name, site_key, origins) VALUES (%s, %s, %s, '{}')",
            (stage.space_id, text, f"{stage.space_id}{text}"),
        )
        member = accounts.member(stage.space_id, Role.VIEWER, "Bob")
        rename(stage.connection, member, text)


def rename(connection: Connection, user: User, text: str) -> None:
    connection.execute("UPDATE users SET name = %s WHERE id = %s", (text, user.id))


def shows(visit: Visit, path: str, *payloads: str) -> None:
    """Open a page, and check that it has each payload as text and that none has run."""
    text = visit.text(path)
    assert [payload for payload in payloads if squeeze(payload) not in text] == [], path


LISTS = ("/events", "/sites", "/members", "/keys", "/mcp", "/settings")
"""Pages with names that a Space has several of."""
NAMES = tokens.MAX_TOKENS // 2


def test_lists_of_names_that_are_markup(
    visit: Callable[..., Visit],
    accounts: Accounts,  # noqa: F811
    make_space: Callable[..., int],
    connection: Connection,
) -> None:
    """Put each payload into every name of a list, on every page: it is shown as text, and never runs. An
    ordinary run tries some of the payloads.
    """
    assert len(PAYLOADS) >= 40
    sample = pick_share(PAYLOADS, "lists of names")
    visitor = visit()
    user = accounts.user()
    visitor.log_in(user)
    for start in range(0, len(sample), NAMES):
        payloads = sample[start : start + NAMES]
        space_id = make_space()
        connection.execute("INSERT INTO memberships VALUES (%s, %s, 'owner')", (space_id, user.id))
        plant(accounts, Stage(connection, space_id, ""), user, payloads)
        for end in PAGES:
            shows(visitor, f"/console/spaces/{space_id}{end}", *(payloads if end in LISTS else ()))
    assert visitor.reports == []


def test_a_name_of_a_space_or_a_person_that_is_markup(
    visit: Callable[..., Visit],
    accounts: Accounts,  # noqa: F811
    make_space: Callable[..., int],
    connection: Connection,
) -> None:
    """Put each payload into the single names: the Space's, the viewer's, and the viewer's device. An ordinary
    run tries some of the payloads.
    """
    sample = pick_share(PAYLOADS, "single names")
    visitor = visit()
    user = accounts.user()
    visitor.log_in(user)
    for payload in sample:
        space_id = make_space(name=payload)
        connection.execute("INSERT INTO memberships VALUES (%s, %s, 'owner')", (space_id, user.id))
        rename(connection, user, payload)
        connection.execute("UPDATE sessions SET device = %s WHERE user_id = %s", (payload, user.id))
        shows(visitor, f"/console/spaces/{space_id}/settings", payload)
        shows(visitor, "/console/account", payload)
    pages = {visitor.text(f"/console?all&page={number}") for number in (1, 2, 3)}
    assert [name for name in sample if not any(squeeze(name) in page for page in pages)] == []
    assert visitor.reports == []
