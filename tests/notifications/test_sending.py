"""The outbox: notifications are sent once, to the subscribed channels, by mail and by webhook. A refused
message is retried or given up, with a sentence that gives the reason.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from headwater.alerts.history import NOW_USUAL, AlertStep, StepKind
from headwater.alerts.notifications import messages
from headwater.alerts.notifications.channels import (
    ChannelTarget,
    NewChannel,
    confirm_channel,
    create_channel,
    fetch_target,
    list_channels,
)
from headwater.alerts.notifications.messages import PAUSES, Result, announce_alerts, claim, list_messages
from headwater.alerts.notifications.sender import MessageSender, Outlet, attempts
from headwater.alerts.rules import Rule
from headwater.base.egress.client import Egress
from headwater.base.settings import Settings
from headwater.console.scheduled_reports import runner
from headwater.console.scheduled_reports.runner import ReportRunner
from headwater.console.scheduled_reports.scheduled_reports import NewReport, schedule_report
from headwater.database.pool import Database
from headwater.spaces.accounts.members import remove_member
from headwater.spaces.accounts.roles import Role
from headwater.spaces.accounts.users import disable_user
from headwater.spaces.encryption import derive_key
from headwater.spaces.models import Space
from headwater.spaces.spaces import fetch_space
from tests.console.test_channels import days_ago, order
from tests.support.accounts import Accounts
from tests.support.factories import Stage
from tests.support.mail_server import Mailbox, serve_mail
from tests.support.pretend_slack import PretendSlack, serve_slack
from tests.support.waiting import wait_until

KEY = derive_key("x" * 32)
NOW = datetime(2026, 5, 13, 12, tzinfo=UTC)
BASE = "https://headwater.example"


@pytest.fixture
def slack() -> Iterator[PretendSlack]:
    with serve_slack() as pretend:
        yield pretend


@pytest.fixture
def mailbox() -> Iterator[Mailbox]:
    with serve_mail() as mailbox:
        yield mailbox


@dataclass
class Post:
    """A Space's notifications and their delivery."""

    url: str
    space_id: int
    mailbox: Mailbox
    accounts: Accounts

    def add(self, kind: str, address: str, rules: list[str] | None = None) -> int:
        new = NewChannel(kind, kind, address, list(Rule) if rules is None else rules, self.user)
        channel_id, _ = self.accounts.run(lambda c: create_channel(c, self.space_id, new, KEY))
        return channel_id

    @property
    def user(self) -> int:
        return self.accounts.member(self.space_id).id

    def notify(
        self, step: StepKind = StepKind.OPENED, rule: Rule = Rule.VISITS_FELL, cause: str = "The tag is gone."
    ) -> None:
        alert_step = AlertStep(1, step, NOW, rule, "", "Visits stopped", cause)

        async def run(connection: psycopg.AsyncConnection) -> None:
            await announce_alerts(connection, await fetch_space(connection, self.space_id), [alert_step])

        self.accounts.run(run)

    def send(self, now: datetime | None = None, **settings: Any) -> int:
        return self.work(lambda database, outlet: MessageSender(database, outlet).send_due(
            self.space_id, now or datetime.now(UTC)
        ), **settings)  # fmt: skip

    def work(self, work: Callable[[Database, Outlet], Any], **settings: Any) -> Any:
        values = {"smtp_url": self.mailbox.url(), "mail_from": "alerts@example.com", **settings}

        async def run() -> Any:
            async with Database(self.url, 2) as database, Egress(["127.0.0.1"]) as egress:
                return await work(database, Outlet(Settings(**values), egress, KEY, BASE))

        return asyncio.run(run())

    @property
    def outcomes(self) -> list[tuple[str, str | None]]:
        rows = self.accounts.run(lambda c: list_messages(c, self.space_id))
        return [(row.status, row.error) for row in rows]


@pytest.fixture
def post(database_url: str, space_id: int, mailbox: Mailbox) -> Post:
    return Post(database_url, space_id, mailbox, Accounts(database_url))


def test_it_works(post: Post, slack: PretendSlack) -> None:
    """An alert goes to a member's mail and to Slack, once each."""
    member = post.accounts.member(post.space_id)
    post.add("email", member.email)
    post.add("webhook", slack.url)
    post.add("webhook", slack.url, [Rule.ORDERS_FELL])
    post.notify()
    assert post.send() == 2
    assert post.send() == 0
    (mail,) = post.mailbox.messages
    assert mail["To"] == member.email
    assert mail["Subject"] == "[Test] Visits stopped"
    assert "/mail/" in mail["List-Unsubscribe"]
    ((text),) = [message["text"] for message in slack.messages]
    assert text.startswith("*Visits stopped*\nTest, 13 May 2026, 12:00 (UTC)\nThe tag is gone.")
    assert post.outcomes == [("sent", None)] * 2
    post.notify(StepKind.ENDED, cause="")
    post.notify(StepKind.RETURNED)
    post.notify(StepKind.ENDED, cause=NOW_USUAL)
    post.send()
    paragraphs = {text.splitlines()[0]: text for text in (message["text"] for message in slack.messages[1:])}
    assert paragraphs.keys() == {f"*{word}: Visits stopped*" for word in ("Resolved", "Again", "Ended")}
    assert "back to normal" in paragraphs["*Resolved: Visits stopped*"]
    assert NOW_USUAL in paragraphs["*Ended: Visits stopped*"]


def test_every_attempt_is_counted(post: Post, slack: PretendSlack) -> None:
    outcomes = [attempts.labels("webhook", outcome) for outcome in ("sent", "failed")]
    before = [counter._value.get() for counter in outcomes]
    post.add("webhook", slack.url)
    slack.status = 503
    post.notify()
    post.send()
    assert [counter._value.get() for counter in outcomes] == [before[0], before[1] + 1]
    slack.status = 200
    post.send(datetime.now(UTC) + timedelta(days=1))
    assert [counter._value.get() for counter in outcomes] == [before[0] + 1, before[1] + 1]


def test_an_address_that_has_not_agreed_gets_nothing(post: Post) -> None:
    post.add("email", "stranger@elsewhere.example")
    post.notify()
    assert post.send() == 0


@pytest.mark.parametrize("is_removed", [True, False])
def test_a_member_who_is_gone_gets_nothing(post: Post, *, is_removed: bool) -> None:
    """Neither alerts nor reports, even if they agree later by a link of an earlier mail."""
    member = post.accounts.member(post.space_id, Role.ADMIN)
    channel_id = post.add("email", member.email)
    post.notify()
    assert post.send() == 1
    if is_removed:
        post.accounts.run(lambda c: remove_member(c, post.space_id, member.id))
    else:
        post.accounts.run(lambda c: disable_user(c, member))
    post.accounts.run(lambda c: confirm_channel(c, post.space_id, channel_id))
    post.notify()
    target = post.accounts.run(lambda c: fetch_target(c, post.space_id, channel_id))
    assert target is not None
    assert target.confirmed_at is None, "scheduled reports ask this"
    assert post.send() == 0


def test_what_is_refused_is_tried_again_and_then_given_up(
    post: Post, slack: PretendSlack, connection: psycopg.Connection
) -> None:
    post.add("webhook", slack.url)
    post.notify()
    slack.status = 503
    now = datetime.now(UTC)
    assert post.send(now) == 1
    assert post.send(now + timedelta(seconds=30)) == 0, "it waits"
    ((status, error),) = post.outcomes
    assert (status, error) == (
        "waiting", "The webhook's server is temporarily unavailable (HTTP 503). The message will be retried."
    )  # fmt: skip
    for _ in PAUSES:
        connection.execute("UPDATE messages SET due_at = %s WHERE space_id = %s",
                           (now, post.space_id))  # fmt: skip
        post.send(now + timedelta(seconds=1))
    assert post.outcomes[0][0] == "failed"
    (channel,) = post.accounts.run(lambda c: list_channels(c, post.space_id))
    assert channel.went_well is False


@pytest.mark.parametrize(
    ("status", "message"),
    [(404, "does not exist"), (403, "its token is wrong or revoked"),
     (302, "redirects to another one"), (400, "accepts JSON in Slack's format")],
)  # fmt: skip
def test_webhooks_say_what_is_wrong(post: Post, slack: PretendSlack, status: int, message: str) -> None:
    post.add("webhook", slack.url)
    post.notify()
    slack.status = status
    post.send()
    assert message in (post.outcomes[0][1] or "")


def test_without_a_mail_server_nothing_goes_out(post: Post) -> None:
    post.add("email", post.accounts.member(post.space_id).email)
    post.notify()
    post.send(smtp_url=None)
    assert "No mail server is configured" in (post.outcomes[0][1] or "")
    post.mailbox.refusal = "550 No such user"
    post.send(datetime.now(UTC) + timedelta(minutes=2))
    assert post.outcomes[0][0] == "failed"


def test_a_message_is_one_processs(post: Post, connection: psycopg.Connection) -> None:
    """While another process has the lease, nothing is sent; afterwards the message is sent under the same
    id.
    """
    post.add("email", post.accounts.member(post.space_id).email)
    post.notify()
    connection.execute(
        "UPDATE messages SET lease = %s, leased_until = now() + interval '1 minute', attempts = 1"
        " WHERE space_id = %s", (uuid4(), post.space_id),
    )  # fmt: skip
    assert post.send() == 0
    connection.execute(
        "UPDATE messages SET leased_until = now() - interval '1 second' WHERE space_id = %s", (post.space_id,)
    )
    assert post.send() == 1
    ((message_id,),) = connection.execute(
        "SELECT message_id FROM messages WHERE space_id = %s", (post.space_id,)
    ).fetchall()
    assert post.mailbox.messages[0]["Message-ID"] == f"<{message_id}@example.com>"


def hold_mail(monkeypatch: pytest.MonkeyPatch, wait: Callable[[], Awaitable[Any]]) -> None:
    send = Outlet.send

    async def wait_and_send(outlet: Outlet, space_id: int, target: ChannelTarget, *rest: Any) -> Result:
        if target.kind == "email":
            await wait()
        return await send(outlet, space_id, target, *rest)

    monkeypatch.setattr(Outlet, "send", wait_and_send)


def test_a_sent_message_is_recorded_while_another_waits(
    post: Post, slack: PretendSlack, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A crash in this time would send it again."""
    post.add("webhook", slack.url)
    post.add("email", post.accounts.member(post.space_id).email)
    post.notify()
    hold_mail(monkeypatch, lambda: asyncio.to_thread(wait_until, lambda: ("sent", None) in post.outcomes, 10))
    assert post.send() == 2
    assert post.outcomes == [("sent", None)] * 2


def test_a_result_that_cannot_be_recorded_stops_no_other(
    post: Post, slack: PretendSlack, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The others are recorded before the pass fails, because the service may stop after it."""
    post.add("webhook", slack.url)
    post.add("email", post.accounts.member(post.space_id).email)
    post.notify()
    finish, failed = messages.finish, asyncio.Event()
    hold_mail(monkeypatch, failed.wait)

    async def fail_once(*arguments: Any) -> bool:
        if failed.is_set():
            return await finish(*arguments)
        failed.set()
        raise psycopg.OperationalError

    monkeypatch.setattr(messages, "finish", fail_once)
    with pytest.raises(psycopg.OperationalError):
        post.send()
    assert sorted(status for status, _ in post.outcomes) == ["sent", "waiting"]


def test_a_lease_has_its_full_time_late_in_a_pass(post: Post, connection: psycopg.Connection) -> None:
    """Messages wait for the alerts and reports of a pass, so its time may be minutes ago."""
    post.add("email", post.accounts.member(post.space_id).email)
    post.notify()
    connection.execute(
        "UPDATE messages SET due_at = now() - interval '1 hour' WHERE space_id = %s", (post.space_id,)
    )
    began = datetime.now(UTC) - timedelta(minutes=5)
    assert len(post.accounts.run(lambda c: claim(c, post.space_id, began, uuid4()))) == 1
    assert post.send() == 0


@pytest.mark.parametrize("page", ["", "/channels", "/models", "/paths", "/campaigns", "/cohorts"])
def test_a_report_has_the_figures_of_its_page(
    post: Post, slack: PretendSlack, connection: psycopg.Connection, page: str
) -> None:
    stage = Stage(connection, post.space_id, "")
    order(stage, "google_ads", "1100.50", campaign_id="c1")
    order(stage, "email", "30")
    channels = [post.add("webhook", slack.url),
                post.add("email", post.accounts.member(post.space_id).email)]  # fmt: skip
    new = NewReport(
        "Each month", page, "", "monthly", [], "07:00", with_csv=True,
        channel_ids=channels, user_id=post.user,
    )  # fmt: skip
    space: Space = post.accounts.run(lambda c: fetch_space(c, post.space_id))
    order_time = days_ago(3)
    now = (order_time.replace(day=1) + timedelta(days=32)).replace(day=2)
    post.accounts.run(lambda c: schedule_report(c, space, new, now - timedelta(days=99)))
    runs = post.work(lambda database, _: ReportRunner(database).run(post.space_id, now))
    assert runs == 1, "what was missed is not made up for one by one"
    assert post.send() == 2
    (mail,) = post.mailbox.messages
    assert mail["Subject"].startswith("[Test] Each month: ")
    (file,) = mail.iter_attachments()
    assert "1100.5" in file.get_content()
    assert ("1,130.50" if page == "/cohorts" else "1,100.50") in slack.messages[0]["text"]
    assert ", until " not in mail["Subject"] + slack.messages[0]["text"], "its days are whole"
    period = "" if page == "/cohorts" else f"?period={order_time:%Y-%m}"
    link = f"{BASE}/console/spaces/{post.space_id}{page}{period}|Open the report"
    assert link in slack.messages[0]["text"]
    assert post.work(lambda database, _: ReportRunner(database).run(post.space_id, now)) == 0


def test_a_report_scheduled_otherwise_while_it_is_built_keeps_its_new_time(
    post: Post, slack: PretendSlack, connection: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    channels = [post.add("webhook", slack.url)]
    new = NewReport(
        "Each month", "", "", "monthly", [], "07:00", with_csv=False,
        channel_ids=channels, user_id=post.user,
    )  # fmt: skip
    space: Space = post.accounts.run(lambda c: fetch_space(c, post.space_id))
    now = datetime.now(UTC)
    post.accounts.run(lambda c: schedule_report(c, space, new, now - timedelta(days=99)))
    tomorrow = now + timedelta(days=1)

    async def change_meanwhile(*_: object) -> None:
        connection.execute(
            "UPDATE scheduled_reports SET cadence = 'daily', next_at = %s WHERE space_id = %s",
            (tomorrow, post.space_id),
        )

    monkeypatch.setattr(runner, "make_notice", change_meanwhile)
    assert post.work(lambda database, _: ReportRunner(database).run(post.space_id, now)) == 1
    row = connection.execute(
        "SELECT next_at FROM scheduled_reports WHERE space_id = %s", (post.space_id,)
    ).fetchone()
    assert row == (tomorrow,)
