"""Readers of the console's forms for notes, channels and settings, and of links in e-mails."""

from __future__ import annotations

from headwater.alerts.notifications.channels import read_mail_token, read_url
from headwater.console.forms import SHOWN, PostedForm, read_shown
from headwater.console.report_pages.bar import _write_dates
from headwater.console.report_pages.charts import chart_notes
from headwater.console.report_pages.notes import _is_day
from headwater.console.report_pages.view import ReportView
from tests.hostile.growth import Door

FIELD = 2048

FORM_DOORS = [
    Door("notes.day", _is_day, FIELD),
    Door("bar.dates", lambda text: _write_dates(ReportView(start_date=text, end_date=text)), FIELD),
    Door("notes.form", lambda text: chart_notes._read(text, text), FIELD),
    Door("channels.url", read_url, FIELD),
    Door("channels.token", lambda text: read_mail_token(b"k", text), FIELD),
    Door("forms.shown", lambda text: read_shown(PostedForm(((SHOWN, text),)), {}), 16 * FIELD),
]
