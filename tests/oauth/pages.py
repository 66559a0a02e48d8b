"""Read pages like a browser without scripts: their forms and text."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser


@dataclass
class PageForm:
    """A form: its target, its current field values, and the values that can be chosen."""

    action: str
    fields: dict[str, str] = field(default_factory=dict[str, str])
    options: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """Values of radio fields, checkboxes and buttons."""


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.forms: list[PageForm] = []
        self.words: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        if tag == "form":
            self.forms.append(PageForm(attributes.get("action", "")))
        if tag in ("input", "button") and self.forms and "name" in attributes:
            form, name, value = self.forms[-1], attributes["name"], attributes.get("value", "")
            if tag == "button" or attributes.get("type") in {"radio", "checkbox"}:
                if "disabled" not in attributes:
                    form.options.setdefault(name, []).append(value)
            else:
                form.fields[name] = value

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def read_forms(html: str) -> list[PageForm]:
    reader = _Reader()
    reader.feed(html)
    return reader.forms


def read_form_to(html: str, path: str) -> PageForm:
    """Return the only form that posts to this path."""
    (form,) = [form for form in read_forms(html) if form.action.partition("?")[0] == path]
    return form


def read_text(html: str) -> str:
    """Return the page's text, with single spaces."""
    reader = _Reader()
    reader.feed(html)
    return " ".join(" ".join(reader.words).split())
