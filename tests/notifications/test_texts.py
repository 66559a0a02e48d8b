"""Notices as mail and as webhook messages: no stored text can add a header, a link or a tag."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from email import message_from_bytes, policy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.alerts.notifications.models import Notice, ReportTable
from headwater.alerts.notifications.texts import Envelope, build_mail, webhook_body
from headwater.base.mail_server import read_sender

BASE = "https://headwater.example"
NOW = datetime(2026, 5, 13, 12, tzinfo=UTC)
ENVELOPE = Envelope(
    "Headwater <alerts@example.com>", "ada@example.com", "abc", NOW, "Headwater", f"{BASE}/mail/t"
)
ANY_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=300)


def notice(text: str = "Visits stopped", **fields: Any) -> Notice:
    rows = [[text, "1,200.00"], ["email", "3.00"]]
    return Notice(
        subject=text, headline=text, paragraphs=[text], link="/console/spaces/1/alerts",
        table=ReportTable(columns=["Channel", "Revenue"], rows=rows), **fields,
    )  # fmt: skip


def test_it_works() -> None:
    mail = build_mail(notice(file="a,b\r\n", file_name="report.csv"), BASE, ENVELOPE)
    message = message_from_bytes(mail.as_bytes(), policy=policy.default)
    assert message["From"] == "Headwater <alerts@example.com>"
    assert message["Message-ID"] == "<abc@example.com>"
    assert message["List-Unsubscribe"] == f"<{BASE}/mail/t>"
    plain, html = message.get_body(("plain",)), message.get_body(("html",))
    assert plain is not None
    assert html is not None
    assert "Channel          Revenue\nVisits stopped  1,200.00" in plain.get_content().replace("\r", "")
    assert f'<a href="{BASE}/console/spaces/1/alerts">See what to do</a>' in html.get_content()
    (file,) = message.iter_attachments()
    assert (file.get_filename(), file.get_content_type()) == ("report.csv", "text/csv")


@settings(deadline=None, max_examples=60)
@given(ANY_TEXT)
def test_no_text_adds_anything(text: str) -> None:
    mail = build_mail(notice(text, file="x", file_name=text or "x"), BASE, ENVELOPE)
    message = message_from_bytes(mail.as_bytes(), policy=policy.default)
    names = [name.lower() for name in message]
    assert sorted(names) == sorted([
        "from", "to", "subject", "date", "message-id", "auto-submitted", "list-unsubscribe",
        "content-type", "mime-version",
    ])  # fmt: skip
    html = message.get_body(("html",))
    assert html is not None
    assert html.get_content().count("<a ") == 2
    body = json.loads(webhook_body(notice(text), BASE))
    assert set(body) == {"text"}
    assert body["text"].count("<") == 1
    assert body["text"].endswith(f"<{BASE}/console/spaces/1/alerts|See what to do>")


def test_a_hostile_headline_is_text() -> None:
    hostile = "<!channel> \r\nBcc: eve@example.com\r\n\r\n<script>"
    mail = build_mail(notice(hostile), BASE, ENVELOPE)
    assert mail["Bcc"] is None
    html = mail.get_body(("html",))
    assert html is not None
    assert "<script>" not in html.get_content()
    assert "<!channel>" not in json.loads(webhook_body(notice(hostile), BASE))["text"]


@pytest.mark.parametrize(
    "text",
    ["=?utf-8?q?a=0D=0ABcc:_eve=40example.com?=", "=?utf-8?q?a=0D=0A=0D=0A<script>?=", "=?utf-7?q?+2AA-?=",
     "Größe =?utf-8?b?DQpCY2M6IGV2ZQ0K?= b"],
)  # fmt: skip
def test_an_encoded_word_in_a_name_is_text(text: str) -> None:
    """The mail library would decode it: to further headers, or to a character that no mail can have."""
    message = message_from_bytes(build_mail(notice(text), BASE, ENVELOPE).as_bytes(), policy=policy.default)
    assert message["Bcc"] is None
    assert message["Date"] is not None
    assert message["Subject"] == text.replace("=?", "= ?")


def test_a_webhooks_table_keeps_its_columns() -> None:
    """Otherwise an empty cell moves the others of its row to the left."""
    table = ReportTable(
        columns=["Ads", "Spend", "ROAS"], rows=[["Google ads", "9.50", "2"], ["A <b>", "", "1"]]
    )
    text = json.loads(webhook_body(Notice(subject="x", headline="x", link="/l", table=table), BASE))["text"]
    lines = text.split("```")[1].splitlines()[1:]
    assert lines == ["Ads         Spend  ROAS", "Google ads   9.50     2", "A &lt;b&gt;                 1"]


def test_a_long_table_is_left_out_of_a_webhooks_message() -> None:
    long = Notice(
        subject="x", headline="x", paragraphs=["y"], link="/l",
        table=ReportTable(columns=["a"], rows=[["z" * 100]] * 100),
    )  # fmt: skip
    text = json.loads(webhook_body(long, BASE))["text"]
    assert len(text) < 3_000
    assert text.endswith("|See what to do>")


def test_a_long_text_keeps_its_link() -> None:
    """Campaigns may have names of 512 characters, and a cause names several."""
    text = json.loads(webhook_body(notice("名" * 4_000), BASE))["text"]
    assert len(text) <= 3_000
    assert text.startswith("*")
    assert text.endswith(">")
    assert f"<{BASE}" in text


@pytest.mark.parametrize("text", ["nobody", "a@b\nBcc: c@d", "@x.example", "x <y>"])
def test_bad_senders_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="e-mail address"):
        read_sender(text)
