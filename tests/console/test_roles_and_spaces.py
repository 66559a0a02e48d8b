"""Every page and every action in a Space as each role, as a stranger, and with another Space's id. The routes
come from the console itself: a route missing from the tables here fails.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass

import httpx
import psycopg
import pytest

from headwater.console.forms import TOKEN, form_token, once_token
from headwater.console.routes import PAGES
from headwater.spaces.accounts.roles import Permission, Role
from tests.conftest import Running
from tests.console.browsing import Browser, strip_tokens
from tests.console.conftest import Person, log_in_member, open_browser
from tests.support.accounts import Accounts
from tests.support.factories import Stage
from tests.support.factors import CONFIRM, age_factor, age_login, enrol
from tests.support.sites import make_site
from tests.support.spaces import insert_space
from tests.support.trained_models import plant_trained_model
from tests.support.two_spaces import read_all_rows

IN_SPACE = "/console/spaces/{space_id}"
ONCE = "once"
# For each action, the form it reads, whether the form's token is good only once, and the permission it needs.
ACTIONS: dict[str, tuple[str, str, Permission]] = {
    "/alerts/acknowledge": ("acknowledge alert", "", Permission.CHANGE_SETTINGS),
    "/alerts/rules/built-in": ("alert rule", "", Permission.CHANGE_SETTINGS),
    "/alerts/rules/create": ("create rule", ONCE, Permission.CHANGE_SETTINGS),
    "/alerts/rules/change": ("change rule", "", Permission.CHANGE_SETTINGS),
    "/alerts/rules/mute": ("mute rule", "", Permission.CHANGE_SETTINGS),
    "/alerts/rules/delete": ("delete rule", "", Permission.CHANGE_SETTINGS),
    "/alerts/channels/create": ("create channel", ONCE, Permission.CHANGE_SETTINGS),
    "/alerts/channels/change": ("change channel", "", Permission.CHANGE_SETTINGS),
    "/alerts/channels/test": ("test channel", "", Permission.CHANGE_SETTINGS),
    "/alerts/reports/schedule": ("schedule report", ONCE, Permission.CHANGE_SETTINGS),
    "/alerts/reports/change": ("change report", "", Permission.CHANGE_SETTINGS),
    "/alerts/reports/pause": ("pause report", "", Permission.CHANGE_SETTINGS),
    "/alerts/reports/send": ("send report", "", Permission.CHANGE_SETTINGS),
    "/alerts/reports/remove": ("remove report", "", Permission.CHANGE_SETTINGS),
    "/contacts/{contact_id}/erase": ("erase contact", "", Permission.WRITE_DATA),
    "/contacts/{contact_id}/unmerge": ("unmerge contact", "", Permission.WRITE_DATA),
    "/keys/create": ("create key", ONCE, Permission.MANAGE_KEYS),
    "/keys/revoke": ("revoke key", "", Permission.MANAGE_KEYS),
    "/keys/restrict": ("restrict key", "", Permission.MANAGE_KEYS),
    "/keys/rotate": ("rotate key", ONCE, Permission.MANAGE_KEYS),
    "/mcp/create": ("create token", ONCE, Permission.MAKE_TOKENS),
    "/mcp/revoke": ("revoke token", "", Permission.READ),
    "/members/invite": ("invite", "", Permission.MANAGE_MEMBERS),
    "/members/role": ("role", "", Permission.MANAGE_MEMBERS),
    "/members/remove": ("remove", "", Permission.READ),
    "/members/uninvite": ("uninvite", "", Permission.MANAGE_MEMBERS),
    "/sites/create": ("create site", ONCE, Permission.CHANGE_SETTINGS),
    "/sites/{site_id}/change": ("change site", "", Permission.CHANGE_SETTINGS),
    "/sites/{site_id}/end": ("end site", "", Permission.CHANGE_SETTINGS),
    "/sites/{site_id}/test/start": ("test site", "", Permission.CHANGE_SETTINGS),
    "/settings": ("settings", "", Permission.CHANGE_SETTINGS),
    "/share-links/create": ("create share link", ONCE, Permission.CHANGE_SETTINGS),
    "/share-links/revoke": ("revoke share link", "", Permission.CHANGE_SETTINGS),
    "/notes/add": ("chart note", "", Permission.WRITE_DATA),
    "/notes/{note_id}/change": ("chart note", "", Permission.WRITE_DATA),
    "/notes/{note_id}/remove": ("chart note", "", Permission.WRITE_DATA),
    "/views/save": ("save view", "", Permission.READ),
    "/views/remove": ("remove view", "", Permission.READ),
    "/data-quality/resume": ("data-quality", "", Permission.CHANGE_SETTINGS),
    "/data-quality/replay": ("data-quality", "", Permission.WRITE_DATA),
    "/data-quality/name": ("data-quality", "", Permission.CHANGE_SETTINGS),
    "/data-quality/unname": ("data-quality", "", Permission.CHANGE_SETTINGS),
    "/data-quality/own": ("data-quality", "", Permission.CHANGE_SETTINGS),
    "/data-quality/exclude": ("data-quality", "", Permission.CHANGE_SETTINGS),
    "/spend/delete": ("spend deletion", "", Permission.WRITE_DATA),
    "/trained-models/automatic": ("trained_model", "", Permission.WRITE_DATA),
    "/trained-models/automatic/train": ("trained_model", "", Permission.WRITE_DATA),
    "/trained-models/make": ("trained_model", "", Permission.WRITE_DATA),
    "/trained-models/{trained_model_id}/choose": ("trained_model", "", Permission.WRITE_DATA),
    "/rates/add": ("rates", "", Permission.WRITE_DATA),
    "/self-reported/add": ("self-reported", "", Permission.CHANGE_SETTINGS),
    "/self-reported/remove": ("self-reported", "", Permission.CHANGE_SETTINGS),
    **{
        f"/sources/{verb}": ("sources", "", Permission.CHANGE_SETTINGS)
        for verb in ("hosts", "name", "unname", "network", "remove-network")
    },
    "/links/many": ("link sheet", "", Permission.READ),
    "/orders/imports/upload": ("upload", ONCE, Permission.WRITE_DATA),
    "/order-comparison": ("order comparison", ONCE, Permission.READ),
    **{
        f"/orders/imports/{{import_id}}/{verb}": ("import", "", Permission.WRITE_DATA)
        for verb in ("check", "start", "cancel")
    },
    "/orders/webhooks/create": ("create webhook", ONCE, Permission.CHANGE_SETTINGS),
    "/orders/webhooks/{webhook_id}/mapping": ("webhook mapping", "", Permission.CHANGE_SETTINGS),
    "/orders/webhooks/{webhook_id}/secret": (
        "webhook secret", ONCE, Permission.CHANGE_SETTINGS,
    ),
    "/orders/webhooks/{webhook_id}/address": (
        "webhook address", ONCE, Permission.CHANGE_SETTINGS,
    ),
    "/orders/webhooks/{webhook_id}/test": ("test webhook", "", Permission.READ),
    **{
        f"/orders/webhooks/{{webhook_id}}/{verb}": ("change webhook", "", permission)
        for verb, permission in (
            ("pause", Permission.CHANGE_SETTINGS), ("resume", Permission.CHANGE_SETTINGS),
            ("delete", Permission.CHANGE_SETTINGS), ("replay", Permission.WRITE_DATA),
            ("replay-failed", Permission.WRITE_DATA),
        )
    },
    "/spend/connections/connect/{platform}": ("spend account", ONCE, Permission.CHANGE_SETTINGS),
    "/spend/connections/{connection_id}/settings": ("spend account", "", Permission.CHANGE_SETTINGS),
    **{
        f"/spend/connections/{{connection_id}}/{verb}": ("spend connection", "", Permission.CHANGE_SETTINGS)
        for verb in ("pull", "pause", "resume", "remove")
    },
    "/spend/watch": ("watched address", ONCE, Permission.CHANGE_SETTINGS),
    "/spend/watched/{watched_file_id}/settings": ("watched address", "", Permission.CHANGE_SETTINGS),
    **{
        f"/spend/watched/{{watched_file_id}}/{verb}": (
            "watched address state", "", Permission.CHANGE_SETTINGS,
        )
        for verb in ("fetch", "pause", "resume", "remove")
    },
    "/spend/connections/script/{platform}": ("spend script", ONCE, Permission.MANAGE_KEYS),
    "/platforms/connect/{platform}": ("destination", ONCE, Permission.CHANGE_SETTINGS),
    **{
        f"/platforms/{{destination_id}}/{verb}": ("destination", "", Permission.CHANGE_SETTINGS)
        for verb in ("settings", "events", "test")
    },
    **{
        f"/platforms/{{destination_id}}/{verb}": (
            "destination state", "", Permission.CHANGE_SETTINGS,
        )
        for verb in ("pause", "resume", "replay", "remove")
    },
}  # fmt: skip
ONLY_FORMS = {
    "/alerts/reports/new", "/alerts/reports/{report_id}",
    "/orders/imports/new", "/orders/webhooks/new",
    "/orders/webhooks/{webhook_id}/mapping",
    *(end for end in ACTIONS if end.startswith(("/platforms/", "/spend/connections/", "/spend/watch"))),
}  # fmt: skip
"""Pages that are only a form, visible only to roles that may send it."""
RESERVED = {
    "/audit": Permission.MANAGE_MEMBERS,
    "/audit.ndjson": Permission.MANAGE_MEMBERS,
    "/contacts/{contact_id}/data.ndjson": Permission.WRITE_DATA,
}
"""Pages visible only to roles with a permission."""
ENDS = sorted(
    (route.path.removeprefix(IN_SPACE), method)
    for route in PAGES
    if route.path.startswith(IN_SPACE)
    for method in (route.methods or set()) - {"HEAD"}
)
READ = [end for end, method in ENDS if method == "GET"]
NEEDED = {"/links/qr.svg": "?address=shop.example&source=email", "/ads/comparison.csv": "?platform=meta"}
"""Required parameters."""
POSTED = [end for end, method in ENDS if method == "POST"]


class SpaceObjects:
    """Objects of a Space, made when an address names them: once, or each time if an action removes it."""

    def __init__(self, connection: psycopg.Connection, space_id: int) -> None:
        self.stage = Stage(connection, space_id, "")
        self._latest: dict[str, int] = {}

    def fill(self, end: str) -> str:
        """Fill ids into the end of an address."""
        delivery = "hook_delivery_id" if end.startswith("/orders/") else "delivery_id"
        end = end.replace("{platform}", "google").replace("{delivery_id}", f"{{{delivery}}}")
        return re.sub(r"{(\w+)}", lambda name: str(self._make(name[1])), end)

    def make_all(self) -> None:
        for name in (*ONCE_MADE, *MADE_ANEW):
            self._make(name)

    def latest(self, name: str) -> int:
        return self._latest[name] if name in self._latest else self._make(name)

    def _make(self, name: str) -> int:
        if name in MADE_ANEW or name not in self._latest:
            self._latest[name] = (ONCE_MADE | MADE_ANEW)[name](self)
        return self._latest[name]


ONCE_MADE: dict[str, Callable[[SpaceObjects], int]] = {
    "contact_id": lambda things: things.stage.contact(),
    "company_id": lambda things: things.stage.company(),
    "site_id": lambda things: make_site(things.stage, "").id,
    "event_id": lambda things: things.stage.event(things.latest("contact_id")),
    "report_id": lambda things: scheduled_report(things.stage),
    "trained_model_id": lambda things: plant_trained_model(things.stage.connection, things.stage.space_id),
}
MADE_ANEW: dict[str, Callable[[SpaceObjects], int]] = {
    "destination_id": lambda things: things.stage.destination(),
    "delivery_id": lambda things: things.stage.add_delivery(
        things.latest("destination_id"), things.latest("event_id")
    ),
    "connection_id": lambda things: things.stage.spend_connection(),
    "watched_file_id": lambda things: things.stage.watched_file(),
    "note_id": lambda things: note(things.stage),
    "webhook_id": lambda things: webhook(things.stage),
    "hook_delivery_id": lambda things: things.stage.delivery(webhook_id=things.latest("webhook_id")),
    "import_id": lambda things: things.stage.add_import(
        "events", status="failed", name="orders.csv", user_id=1
    ),
}


@pytest.fixture
def fill_path(connection: psycopg.Connection, space_id: int) -> Callable[[str], str]:
    """A function that fills ids of the Space's objects into the end of an address."""
    return SpaceObjects(connection, space_id).fill


def scheduled_report(stage: Stage) -> int:
    """Store a scheduled report, and return its id."""
    row = stage.connection.execute(
        "INSERT INTO scheduled_reports (space_id, name, page, query, cadence, weekdays, send_at,"
        " with_csv, channel_ids) VALUES (%s, 'Daily', '', '', 'daily', '{}', '08:00', false, '{}')"
        " RETURNING id", (stage.space_id,),
    ).fetchone()  # fmt: skip
    assert row is not None
    return row[0]


def note(stage: Stage) -> int:
    """Store a note, and return its id."""
    row = stage.connection.execute(
        "INSERT INTO chart_notes (space_id, day, text) VALUES (%s, now(), 'Sale') RETURNING id",
        (stage.space_id,),
    ).fetchone()
    assert row is not None
    return row[0]


def webhook(stage: Stage) -> int:
    """Store a webhook, and return its id."""
    columns = {"type": "generic", "name": "Shop", "token_hash": secrets.token_bytes(32), "hint": "abcd"}
    return stage._insert("webhooks", columns)


@dataclass
class Visitors:
    """The visitors of a Space, which they don't change: a member of each role, a stranger with their own
    Space, and a guest who is not logged in.
    """

    objects: SpaceObjects
    members: dict[Role, Browser]
    other_space_id: int
    stranger: Browser
    guest: Browser

    def address(self, page: str, space_id: int | None = None) -> str:
        return f"/console/spaces/{space_id or self.objects.stage.space_id}{page}"


@pytest.fixture(scope="module")
def visitors(console: Running, database_url: str) -> Iterator[Visitors]:
    accounts = Accounts(database_url)
    with ExitStack() as stack:

        def browser(space_id: int, role: Role) -> Browser:
            return stack.enter_context(log_in_member(console, accounts, space_id, role))

        connection = stack.enter_context(psycopg.connect(database_url, autocommit=True))
        space_id, other_space_id = insert_space(connection), insert_space(connection, name="Elsewhere")
        things = SpaceObjects(connection, space_id)
        things.make_all()
        members = {role: browser(space_id, role) for role in Role}
        guest = stack.enter_context(open_browser(console))
        yield Visitors(things, members, other_space_id, browser(other_space_id, Role.OWNER), guest)


def test_it_works() -> None:
    assert set(ACTIONS) == set(POSTED)
    assert {"", "/models", "/keys", "/members", "/settings", "/mcp"} <= set(READ)


@pytest.mark.parametrize("end", READ)
def test_who_sees_a_page(visitors: Visitors, end: str) -> None:
    """Every member sees it; others learn no more than about a missing Space."""
    page = visitors.objects.fill(end)
    for role, member in visitors.members.items():
        answer = member.get(visitors.address(page + NEEDED.get(end, "")))
        is_hidden = end in ONLY_FORMS and not role.may(Permission.CHANGE_SETTINGS)
        is_hidden = is_hidden or not role.may(RESERVED.get(end, Permission.READ))
        assert answer.status_code == (403 if is_hidden else 200), (role, answer.text)
    other_answer = visitors.stranger.get(visitors.address(page))
    unknown_answer = visitors.stranger.get(visitors.address(page, 999_999_999))
    assert (other_answer.status_code, unknown_answer.status_code) == (404, 404)
    assert strip_tokens(other_answer.text) == strip_tokens(unknown_answer.text)
    if "{" in end.replace("{platform}", ""):  # the stranger's own Space doesn't have these ids either
        own_answer = visitors.stranger.get(visitors.address(page, visitors.other_space_id))
        assert own_answer.status_code == 404
    answer = visitors.guest.get(visitors.address(page), follow=False)
    assert answer.status_code == 303
    assert answer.headers["location"].startswith("/login?next=")


def send(person: Person, space_id: int, end: str, action: str) -> int:
    return post(person, space_id, end, action).status_code


def post(person: Person, space_id: int, end: str, action: str) -> httpx.Response:
    """Send an action's form with a valid token and no other fields."""
    form, once, _ = ACTIONS[end]
    make = once_token if once else form_token
    data = {TOKEN: make(person.form_key, form)}
    files = {"file": ("x.csv", b"")} if end in {"/orders/imports/upload", "/order-comparison"} else None
    path = f"/console/spaces/{space_id}{action}"
    return person.browser.client.post(path, data=data, files=files)


@pytest.mark.parametrize("end", POSTED)
def test_actions(
    person: Callable[..., Person], make_space: Callable[..., int],
    fill_path: Callable[[str], str], space_id: int, end: str,
) -> None:  # fmt: skip
    """A role without the permission is refused, a stranger learns nothing, and a form without a token does
    nothing.
    """
    permission = ACTIONS[end][2]
    person(Role.OWNER)
    for role in Role:
        member = person(role)
        status = send(member, space_id, end, fill_path(end))
        if role.may(permission):
            assert status not in {401, 404, 500}, (role, status)
        else:
            assert status == 403, (role, status)
        naked = member.browser.client.post(f"/console/spaces/{space_id}{fill_path(end)}")
        assert naked.status_code in {403, 415}
    stranger = person(Role.OWNER, make_space(name="Elsewhere"))
    assert send(stranger, space_id, end, fill_path(end)) == 404
    assert send(stranger, 999_999_999, end, fill_path(end)) == 404


DANGEROUS = {
    "/contacts/{contact_id}/erase",
    "/keys/create", "/keys/rotate", "/keys/restrict", "/keys/revoke",
    "/mcp/create", "/spend/connections/script/{platform}",
    "/members/invite", "/members/role", "/members/remove", "/members/uninvite",
    "/platforms/connect/{platform}", "/platforms/{destination_id}/settings",
    "/spend/connections/connect/{platform}", "/spend/connections/{connection_id}/settings",
    "/orders/webhooks/{webhook_id}/secret",
}  # fmt: skip
"""The actions that require a fresh second factor or password."""


def test_dangerous_actions(
    owner: Person, connection: psycopg.Connection, fill_path: Callable[[str], str], space_id: int
) -> None:
    """They require the second factor or, without one, the password, even with a valid form, ten minutes after
    it was last given.
    """

    def confirmed_actions(actions: Iterable[str]) -> set[str]:
        answers = {end: post(owner, space_id, end, fill_path(end)) for end in actions}
        return {
            end for end, answer in answers.items() if answer.headers.get("location", "").startswith(CONFIRM)
        }

    assert confirmed_actions(DANGEROUS) == set(), "after a fresh login"
    age_login(connection, owner.user.id)
    assert confirmed_actions(DANGEROUS) == DANGEROUS
    age_login(connection, owner.user.id, minutes=-11)
    enrol(owner.browser)
    assert confirmed_actions(DANGEROUS) == set(), "with a fresh one"
    age_factor(connection, owner.user.id)
    assert confirmed_actions(POSTED) == DANGEROUS


# The routes outside any Space, with the status for a guest without a token.
ELSEWHERE = {
    ("GET", "/"): 303, ("GET", "/favicon.ico"): 200, ("GET", "/console/static/{name}"): 404,
    ("GET", "/login"): 200, ("POST", "/login"): 415, ("POST", "/logout"): 303,
    ("GET", "/login/sso/{provider}"): 404, ("GET", "/login/sso/{provider}/callback"): 404,
    ("POST", "/login/sso/{provider}/logout"): 404,
    ("GET", "/console/set-up/{token}"): 404, ("POST", "/console/set-up/{token}"): 415,
    ("GET", "/console/reset/{token}"): 404, ("POST", "/console/reset/{token}"): 415,
    ("GET", "/console/join/{token}"): 404, ("POST", "/console/join/{token}"): 415,
    ("GET", "/console"): 303, ("GET", "/shared/{token}"): 404,
    ("GET", "/mail/{token}"): 404, ("POST", "/mail/{token}"): 415,
    ("GET", "/console/account"): 303, ("POST", "/console/account/name"): 303,
    ("POST", "/console/account/password"): 303,
    ("POST", "/console/account/sessions/close"): 303,
    ("POST", "/console/account/sessions/close-all"): 303,
    ("GET", "/login/factor"): 303, ("POST", "/login/factor"): 415,
    ("GET", "/console/account/confirm"): 303, ("POST", "/console/account/confirm"): 303,
    ("GET", "/console/account/authenticator"): 303, ("POST", "/console/account/authenticator"): 303,
    ("POST", "/console/account/authenticator/codes"): 303,
    ("POST", "/console/account/authenticator/remove"): 303,
    ("GET", "/login/passkey"): 404, ("POST", "/login/passkey"): 415,
    ("GET", "/console/account/passkeys"): 303, ("POST", "/console/account/passkeys"): 303,
    ("POST", "/console/account/passkeys/remove"): 303,
}  # fmt: skip


def test_every_other_route_as_a_guest(browser: Browser) -> None:
    """A route missing from both tables fails, so no new route is served unchecked."""
    routes = {
        (method, route.path)
        for route in PAGES
        if not route.path.startswith(IN_SPACE)
        for method in (route.methods or set()) - {"HEAD"}
    }
    assert routes == set(ELSEWHERE)
    statuses = {
        (method, path): browser.client.request(
            method, re.sub(r"{\w+}", "unknown", path)
        ).status_code
        for method, path in ELSEWHERE
    }  # fmt: skip
    assert statuses == ELSEWHERE


def test_ids_of_another_space_do_nothing(
    owner: Person, person: Callable[..., Person], make_space: Callable[..., int],
    fill_path: Callable[[str], str], space_id: int, connection: psycopg.Connection,
) -> None:  # fmt: skip
    """An owner of another Space sends every form there, with ids of this Space in path and fields."""

    def insert(statement: str, *values: object) -> str:
        row = connection.execute(f"INSERT INTO {statement} RETURNING id", (space_id, *values)).fetchone()
        assert row is not None
        return str(row[0])

    user_id = owner.user.id
    ids = {
        "key": insert("api_keys (space_id, name, key_hash, hint, scopes)"
                      " VALUES (%s, 'Shop', %s, 'hint', '{}')", secrets.token_bytes(32)),
        "link": insert("share_links (space_id, name, page, query, token_hash, expires_at)"
                       " VALUES (%s, 'Ada', '', '', %s, now() + interval '1 day')",
                       secrets.token_bytes(32)),
        "view": insert("saved_views (space_id, user_id, name, page, query)"
                       " VALUES (%s, %s, 'Mine', '', '')", user_id),
        "member": str(user_id), "role": "viewer", "confirm": "yes",
        "status": "failed", "invitation": "1", "token": "1",
    }  # fmt: skip
    other_space_id, stage = make_space(name="Elsewhere"), Stage(connection, space_id, "")
    stranger = person(Role.OWNER, other_space_id)
    for end in POSTED:
        action = fill_path(end)
        ids["destination"] = re.sub(r"\D", "", fill_path("/platforms/{destination_id}"))
        before = read_all_rows(stage)
        form, once, _ = ACTIONS[end]
        make = once_token if once else form_token
        data = {**ids, TOKEN: make(stranger.form_key, form)}
        status = stranger.browser.client.post(
            f"/console/spaces/{other_space_id}{action}", data=data
        ).status_code
        assert status != 500, end
        assert read_all_rows(stage) == before, end
