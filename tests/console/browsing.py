"""A browser without scripts for tests of the console: it keeps cookies, follows redirects, and sends forms as
the page has them, from its own address.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass, field
from typing import Any

import httpx

from headwater.spaces.accounts.users import User
from tests.support.accounts import PASSWORD
from tests.support.markup import Markup
from tests.support.waiting import PATIENCE_SECONDS

_ADDRESSES = itertools.count(1)
SESSION = "headwater_session"
"""The session cookie of a logged-in browser."""


@dataclass
class PageForm:
    """A form on a page: its action and its untouched fields."""

    action: str
    fields: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    disabled: bool = False


_FORM = re.compile(r"<form\b.*?</form>", re.DOTALL)


class Forms(Markup):
    """Collects every form with method POST."""

    def __init__(self, html: str) -> None:
        self.forms: list[PageForm] = []
        self._open: PageForm | None = None
        self._select = ""
        self._option: dict[str, str] | None = None
        self._text = ""
        for form in _FORM.findall(html):
            self.feed(form)

    def handle_starttag(self, tag: str, attributes: dict[str, str]) -> None:
        if tag == "form":
            self._open = PageForm(attributes.get("action", ""))
            self.forms.append(self._open)
        if self._open is None:
            return
        if tag == "input" and attributes.get("name"):
            boxed = attributes.get("type") in {"checkbox", "radio"}
            if not boxed or "checked" in attributes:
                self._open.fields.append((attributes["name"], attributes.get("value", "")))
        elif tag in {"select", "textarea"}:
            self._select, self._text = attributes.get("name", ""), ""
        elif tag == "option":
            self._option, self._text = attributes, ""

    def handle_data(self, text: str) -> None:
        self._text += text

    def handle_endtag(self, tag: str) -> None:
        if self._open is None:
            return
        if tag == "option" and self._option is not None and "selected" in self._option:
            value = self._option.get("value")
            value = self._text.strip() if value is None else value
            self._open.fields.append((self._select, value))
        elif tag == "textarea":
            self._open.fields.append((self._select, self._text))
        elif tag == "form":
            self._open = None


class Browser:
    """A browser with its cookies."""

    def __init__(self, base_url: str) -> None:
        number = next(_ADDRESSES)
        self.address = f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"
        self.client = httpx.Client(
            base_url=base_url, timeout=PATIENCE_SECONDS, headers={"X-Forwarded-For": self.address}
        )

    def get(self, path: str, *, follow: bool = True) -> httpx.Response:
        return self.client.get(path, follow_redirects=follow)

    def forms(self, path: str) -> list[PageForm]:
        page = self.get(path)
        assert page.status_code == 200, page.text
        return Forms(page.text).forms

    def form(self, path: str, action: str, **hidden_values: str) -> PageForm:
        """Return the form of a page that is sent to `action` and has these values."""
        (match, *_) = [
            form for form in self.forms(path)
            if form.action == action and hidden_values.items() <= dict(form.fields).items()
        ]  # fmt: skip
        return match

    def send(
        self, form: PageForm, *, follow: bool = True, headers: dict[str, str] | None = None,
        **values: str | list[str],
    ) -> httpx.Response:  # fmt: skip
        """Send a form with some values typed in."""
        data: dict[str, Any] = {}
        for name, value in form.fields:
            data.setdefault(name, []).append(value)
        data |= values
        return self.client.post(form.action, data=data, follow_redirects=follow, headers=headers)

    def fill(
        self, path: str, action: str, *, hidden_values: dict[str, str] | None = None,
        **values: str | list[str],
    ) -> httpx.Response:  # fmt: skip
        """Open a page, fill in one of its forms and send it."""
        return self.send(self.form(path, action, **(hidden_values or {})), **values)

    def log_in(self, user: User, password: str = PASSWORD) -> httpx.Response:
        return self.fill("/login", "/login", email=user.email, password=password)

    def session(self) -> str | None:
        return self.client.cookies.get(SESSION)


def strip_tokens(html: str) -> str:
    """Return a page without its form tokens, which differ each time."""
    return re.sub(r'name="form_token" value="[0-9a-f]+"', "", html)


def headings(html: str) -> list[int]:
    """Return the levels of a page's headings, in order."""
    return [int(level) for level in re.findall(r"<h([1-6])", html)]
