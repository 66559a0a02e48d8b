"""Build the documentation site: `python -m scripts.build_site FOLDER`, as `make site` does.

The site consists of plain files that any web server serves and a browser opens from a disk: nothing is
fetched, and the search runs in the page. `docs/contents.toml` lists the pages in order.
"""

# ruff: noqa: INP001 # a script on its own

from __future__ import annotations

import json
import re
import shutil
import sys
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from scripts.site_markdown import Place, Section, render

ROOT = Path(__file__).resolve().parent.parent
FILES = Path(__file__).parent / "site_files"
CONTENTS = ROOT / "docs" / "contents.toml"
GLOSSARY = "docs/glossary.md"

LONG = 6
"""A page with this many sections is long."""
TOO_COMMON = frozenset({
    "part", "chunk", "aggregate", "rate", "share", "path", "note", "overall", "direct", "held", "backup",
    "restore", "report", "event", "site", "source", "operation", "member", "merge", "company",
    "import", "campaign", "alert", "channel", "conversion", "contact", "manifest", "snippet",
    "token", "visit", "credit",
})  # fmt: skip
"""Glossary terms that are also plain English, or too well known to link on every page."""


@dataclass(eq=False)
class Page:
    """A page of the site."""

    path: str
    """Its file, from the repository's root."""
    url: str
    text: str
    sections: list[Section] = field(default_factory=list[Section])

    @property
    def title(self) -> str:
        """Its first heading."""
        return self.text.partition("\n")[0].removeprefix("# ").replace("`", "")

    @property
    def contents(self) -> list[Section]:
        """The sections that a long page lists at its beginning. Empty for a short page."""
        sections = [section for section in self.sections if section.level == 2]
        return sections if len(sections) >= LONG else []


@dataclass(frozen=True)
class Entry:
    """A line of the menu."""

    label: str
    url: str
    """Its target: a page, or a position on one that has its own menu line."""


@dataclass(frozen=True)
class Part:
    """A part of the contents: its pages, and its lines in the menu."""

    title: str
    pages: list[Page]
    entries: list[Entry]


def read_parts() -> list[Part]:
    """Return the contents, in order."""
    parts: list[Part] = []
    for chapter in tomllib.loads(CONTENTS.read_text(encoding="utf-8"))["part"]:
        pages: list[Page] = []
        entries: list[Entry] = []
        for line in chapter["pages"]:
            entry: dict[str, str] = {"page": line} if isinstance(line, str) else line
            if "page" in entry:
                pages.append(read_page(entry["page"]))
                entries.append(Entry(entry.get("label", pages[-1].title), pages[-1].url))
            else:
                path, _, anchor = entry["to"].partition("#")
                entries.append(Entry(entry["label"], f"{address(path)}#{anchor}"))
        if "decisions" in chapter:
            files = sorted((ROOT / chapter["decisions"]).glob("*.md"))
            pages += [read_page(path.relative_to(ROOT).as_posix()) for path in files]
            entries.append(Entry("Decisions", address(f"{chapter['decisions']}/README.md")))
        parts.append(Part(chapter["title"], pages, entries))
    return parts


def read_page(path: str) -> Page:
    """Return the page of a file."""
    return Page(path, address(path), (ROOT / path).read_text(encoding="utf-8"))


def address(path: str) -> str:
    """Return the address of a file's page on the site."""
    if path == "README.md":
        return "index.html"
    name = path.removeprefix("docs/").removeprefix("src/headwater/forwarding/").lower()
    return name.removesuffix("/readme.md").removesuffix(".md") + ".html"


def linked_terms() -> list[str]:
    """Return the glossary terms that pages link, longest first."""
    rows = re.findall(r"^\| \*\*([^*]+)\*\*", (ROOT / GLOSSARY).read_text("utf-8"), re.MULTILINE)
    return sorted((term for term in rows if term.lower() not in TOO_COMMON), key=len, reverse=True)


def build(folder: Path) -> list[Part]:
    """Write the site into a folder, which is emptied first, and return its contents."""
    shutil.rmtree(folder, ignore_errors=True)
    parts = read_parts()
    pages = [page for chapter in parts for page in chapter.pages]
    urls = {page.path: page.url for page in pages}
    # A link to a folder leads to its README.
    urls |= {path.removesuffix("/README.md"): url for path, url in urls.items()}
    environment = Environment(
        loader=FileSystemLoader(FILES), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    template = environment.get_template("page.html")
    for page in pages:
        location = Place(page.path, page.url, urls, lambda path: (ROOT / path).exists())
        page_html = render(page.text, location, [] if page.path == GLOSSARY else linked_terms())
        page.sections = page_html.sections
        target = folder / page.url
        target.parent.mkdir(parents=True, exist_ok=True)
        # The builder's own HTML, made from the repository's own text.
        heading, heading_end, body = map(Markup, page_html.html.partition("</h1>\n"))
        root = "../" * page.url.count("/")
        text = template.render(page=page, parts=parts, heading=heading + heading_end, body=body, root=root)
        target.write_text(text, encoding="utf-8")
    for name in ("site.css", "search.js"):
        shutil.copy(FILES / name, folder / name)
    shutil.copytree(ROOT / "docs" / "pictures", folder / "pictures")
    (folder / "search-data.js").write_text(_search_data(pages), encoding="utf-8")
    return parts


def _search_data(pages: list[Page]) -> str:
    sections = [
        {
            "page": page.url, "url": f"{page.url}#{section.anchor}", "title": page.title,
            "heading": section.heading.replace("`", ""), "text": " ".join(section.text),
        }
        for page in pages
        for section in page.sections
    ]  # fmt: skip
    return f"globalThis.searchData = {json.dumps(sections, ensure_ascii=False)};\n"


if __name__ == "__main__":
    made = build(Path(sys.argv[1]))
    sys.stdout.write(f"{sum(len(chapter.pages) for chapter in made)} pages in {sys.argv[1]}\n")
