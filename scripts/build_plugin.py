"""Write the WooCommerce plugin as WordPress installs it: `python scripts/build_plugin.py dist`. The same
files give the same bytes.
"""

# ruff: noqa: INP001 # a script on its own

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

ROOT = Path(__file__).resolve().parent.parent
NAME = "headwater-for-woocommerce"
PLUGIN = ROOT / "integrations" / "woocommerce" / NAME
HEADER = re.compile(r"^ \* ([A-Z][A-Za-z ]+): +(.+)$", re.MULTILINE)
TRANSLATED = ("Plugin Name", "Description", "Author")
_NOTE = re.compile(r"/\* (translators: .*) \*/")
_CALL = re.compile(rf"\b(?:__|esc_html__)\( '((?:[^'\\]|\\.)*)', '{NAME}' \)")
_EPOCH = (1980, 1, 1, 0, 0, 0)


def read_header(plugin: Path = PLUGIN) -> dict[str, str]:
    """Return the fields at the top of the plugin's main file."""
    return dict(HEADER.findall((plugin / f"{NAME}.php").read_text()))


def write_catalogue(plugin: Path = PLUGIN) -> str:
    """Return the texts to translate in gettext's format (.pot)."""
    header = read_header(plugin)
    head = (
        'msgid ""\nmsgstr ""\n'
        f'"Project-Id-Version: {header["Plugin Name"]} {header["Version"]}\\n"\n'
        '"MIME-Version: 1.0\\n"\n"Content-Type: text/plain; charset=UTF-8\\n"\n'
        f'"Content-Transfer-Encoding: 8bit\\n"\n"X-Domain: {NAME}\\n"\n'
    )
    texts = {header[name]: [f"#. {name} of the plugin\n"] for name in TRANSLATED}
    for text, comment in _list_texts(plugin):
        comments = texts.setdefault(text, [])
        if comment not in comments:
            comments.append(comment)
    entries = (f'{"".join(comments)}msgid "{_quote(text)}"\nmsgstr ""\n' for text, comments in texts.items())
    return "\n".join([head, *entries])


def build(folder: Path) -> Path:
    """Write the plugin's zip into a folder and return its path."""
    files = {path.relative_to(PLUGIN).as_posix(): path.read_bytes() for path in _list_files(PLUGIN)}
    files["LICENSE"] = (ROOT / "LICENSE").read_bytes()
    files[f"languages/{NAME}.pot"] = write_catalogue().encode()
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / f"{NAME}.zip"
    with ZipFile(target, "w", ZIP_DEFLATED) as archive:
        for name in sorted(files):
            entry = ZipInfo(f"{NAME}/{name}", _EPOCH)
            entry.external_attr = 0o100644 << 16
            entry.compress_type = ZIP_DEFLATED
            archive.writestr(entry, files[name])
    return target


def _list_files(plugin: Path) -> list[Path]:
    return [*plugin.rglob("*.php"), plugin / "readme.txt"]


def _list_texts(plugin: Path) -> Iterator[tuple[str, str]]:
    """Yield each text with the comments that gettext writes above it."""
    for path in sorted(plugin.rglob("*.php")):
        note = ""
        for number, line in enumerate(path.read_text().splitlines(), 1):
            match = _NOTE.search(line)
            if match is not None:
                note = f"#. {match[1]}\n"
                continue
            for call in _CALL.finditer(line):
                yield re.sub(r"\\(.)", r"\1", call[1]), f"{note}#: {path.relative_to(plugin)}:{number}\n"
                note = ""


def _quote(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


if __name__ == "__main__":
    sys.stdout.write(f"{build(Path(sys.argv[1]))}\n")
