from __future__ import annotations

import re
from datetime import datetime
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime
from html import escape

import msgspec
from msgspec import Struct

from headwater.alerts.notifications.models import Notice, ReportTable
from headwater.base.mail_server import read_sender

LONGEST_SUBJECT = 200
LONGEST_TEXT = 3_000
"""Characters of a webhook's message."""
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")


class Envelope(Struct, frozen=True):
    sender: str
    recipient: str
    message_id: str
    at: datetime
    brand: str
    stop_link: str | None = None


def build_mail(notice: Notice, base_url: str, envelope: Envelope) -> EmailMessage:
    """Return a notice as mail in plain text and simple HTML. Values cannot add headers, because they lose
    their line breaks. They also lose the marks of encoded words, which could contain other line breaks.
    """
    message = EmailMessage(policy=SMTP)
    name, address = read_sender(envelope.sender)
    message["From"] = Address(name or envelope.brand, addr_spec=address)
    message["To"] = Address(addr_spec=envelope.recipient)
    message["Subject"] = one_line(notice.subject).replace("=?", "= ?")[:LONGEST_SUBJECT]
    message["Date"] = format_datetime(envelope.at)
    message["Message-ID"] = f"<{envelope.message_id}@{address.rpartition('@')[2]}>"
    message["Auto-Submitted"] = "auto-generated"
    if envelope.stop_link:
        message["List-Unsubscribe"] = f"<{envelope.stop_link}>"
    message.set_content(_write_plain(notice, base_url, envelope))
    message.add_alternative(_html(notice, base_url, envelope), subtype="html")
    if notice.file is not None:
        message.add_attachment(
            notice.file.encode(),
            maintype="text",
            subtype="csv",
            filename=one_line(notice.file_name or "report.csv"),
        )
    return message


def webhook_body(notice: Notice, base_url: str) -> bytes:
    """Return JSON for incoming webhooks: one text in Slack's markup."""
    parts = [f"*{_slack(notice.headline)}*", *map(_slack, notice.paragraphs)]
    if notice.table is not None:
        parts.append("```\n" + _escape(_aligned(notice.table)).replace("`", "'") + "\n```")
    link = f"\n<{base_url}{notice.link}|{_slack(notice.link_text)}>"
    room = LONGEST_TEXT - len(link)
    if notice.table is not None and len("\n".join(parts)) > room:
        parts.pop()
    return msgspec.json.encode({"text": "\n".join(parts)[:room] + link})


def one_line(text: str) -> str:
    """Remove line breaks and other control characters."""
    return " ".join(_CONTROLS.sub(" ", text).split())


def _write_plain(notice: Notice, base_url: str, envelope: Envelope) -> str:
    parts = [one_line(notice.headline), *map(one_line, notice.paragraphs)]
    if notice.table is not None:
        parts.append(_aligned(notice.table))
    parts.append(f"{notice.link_text}: {base_url}{notice.link}")
    if envelope.stop_link:
        parts.append(f"Stop these messages: {envelope.stop_link}")
    return "\n\n".join(parts) + "\n"


def _html(notice: Notice, base_url: str, envelope: Envelope) -> str:
    parts = [f"<p><strong>{escape(one_line(notice.headline))}</strong></p>"]
    parts += [f"<p>{escape(one_line(text))}</p>" for text in notice.paragraphs]
    if notice.table is not None:
        head = "".join(f'<th scope="col" align="left">{escape(c)}</th>' for c in notice.table.columns)
        rows = "".join(
            "<tr>" + "".join(f"<td>{escape(one_line(cell))}</td>" for cell in row) + "</tr>"
            for row in notice.table.rows
        )
        parts.append(f'<table cellpadding="4"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>')
    parts.append(f'<p><a href="{escape(base_url + notice.link)}">{escape(notice.link_text)}</a></p>')
    if envelope.stop_link:
        parts.append(f'<p><a href="{escape(envelope.stop_link)}">Stop these messages</a></p>')
    return "<!doctype html><html><body>" + "\n".join(parts) + "</body></html>\n"


def _aligned(table: ReportTable) -> str:
    lines = [[one_line(cell) for cell in row] for row in (table.columns, *table.rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(table.columns))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if column == 0 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


def _slack(text: str) -> str:
    return _escape(one_line(text))


def _escape(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
