"""Detect the encoding and separator of a file. Pure."""

from __future__ import annotations

import codecs
import csv
import hashlib
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from headwater.base.failure import Failure
from headwater.intake.imports.formats.encodings import EncodingSurvey, UnclearEncodingError, judge_encoding

DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
SEPARATORS = {name: delimiter for delimiter, name in DELIMITERS.items()}
HEAD_BYTES = 256 * 1024
"""Bytes examined; the header must fit."""

SEPARATOR_LINE = re.compile(r"\ufeff?\"?sep=(.)\"?[\r\n]*", re.IGNORECASE)
"""In Excel files, a first line with the separator."""

_TRIED_LINES = 50
WORKBOOK = (
    "This is an Excel workbook, not a CSV file. In Excel choose File, Save As, “CSV UTF-8 (Comma "
    "delimited)”, and import the new file."
)
_COMPRESSED = "The file is compressed. Unpack it, and import the file inside."
_ZIPPED_WORKBOOK = re.compile(
    rb"PK\x03\x04.{26}(?:\[Content_Types\]|_rels/|docProps/|xl/|mimetype|Index/)", re.DOTALL
)
"""A workbook is a ZIP archive, whose first file has one of these names."""
BINARY = "This is not a text file. Export the table as CSV, and import that file."
_NO_TABLES = (
    (b"PK\x03\x04", _COMPRESSED),
    (b"\xd0\xcf\x11\xe0", WORKBOOK),
    (b"\x1f\x8b", _COMPRESSED),
    (b"7z\xbc\xaf", _COMPRESSED),
    (b"Rar!", _COMPRESSED),
    (b"\x89PNG", BINARY),
    (b"\xff\xd8\xff", BINARY),
    (b"GIF8", BINARY),
    (b"%PDF", "This is a PDF, not a CSV file. Export the table as CSV, and import that file."),
    (b"<", "This is a web page, not a CSV file: the download may have failed. Download it again."),
    (b"{", "This is JSON, not a CSV file. Export the table as CSV, and import that file."),
    (b"[{", "This is JSON, not a CSV file. Export the table as CSV, and import that file."),
)
EMPTY = "The file is empty. Export it again, and import that file."
_UTF_16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
NO_MARK = (
    "The encoding must be another one than utf-16: the file has no byte order mark. Without one, "
    "use utf-16 le or utf-16 be."
)
BAD_HEADER = "The encoding must be another one: the header has bytes that are invalid in it."
UNCLEAR = (
    "The encoding of the file is unclear. In Excel choose File, Save As, “CSV UTF-8 (Comma "
    "delimited)”; in a terminal, use --encoding."
)


class UnreadableError(Failure):
    """A file that can't be imported, and why."""


class WrongEncodingError(UnreadableError):
    """The chosen encoding is impossible."""


class OpenEncodingError(WrongEncodingError):
    """The encoding is ambiguous: the user must choose."""


@dataclass(frozen=True)
class Dialect:
    encoding: str = "utf-8-sig"
    """A key of ENCODINGS."""
    delimiter: str = ","
    """A key of DELIMITERS."""
    lines_before: int = 0

    @property
    def error_handler(self) -> str:
        """Keep invalid bytes, so that only their row is refused."""
        return "replace" if self.encoding.startswith("utf-16") else "surrogateescape"


@dataclass
class FileSurvey:
    """Facts gathered in one pass over a file's bytes."""

    size: int = 0
    head: bytes = b""
    encoding: EncodingSurvey = field(default_factory=EncodingSurvey)
    _digest: Any = field(default_factory=hashlib.sha256)

    def add(self, chunk: bytes) -> None:
        self.size += len(chunk)
        self._digest.update(chunk)
        if len(self.head) < HEAD_BYTES:
            self.head += chunk[: HEAD_BYTES - len(self.head)]
        self.encoding.add(chunk)

    def finish(self) -> None:
        self.encoding.add(b"", final=True)

    @property
    def digest(self) -> bytes:
        """SHA-256."""
        return self._digest.digest()


def read_dialect(survey: FileSurvey, encoding: str | None = None, delimiter: str | None = None) -> Dialect:
    """Detect a dialect, except the parts the user chose. Raises UnreadableError."""
    head = survey.head
    if not head.strip():
        raise UnreadableError(EMPTY)
    if _ZIPPED_WORKBOOK.match(head):
        raise UnreadableError(WORKBOOK)
    start = head.removeprefix(codecs.BOM_UTF8).lstrip()
    for mark, sentence in _NO_TABLES:
        if start.startswith(mark):
            raise UnreadableError(sentence)
    if encoding == "utf-16" and not head.startswith(_UTF_16_MARKS):
        raise WrongEncodingError(NO_MARK)
    encoding = encoding or _detect_encoding(head, survey.encoding)
    text = head.decode(encoding, "replace")
    if not text.strip("\ufeff \t\r\n"):
        raise UnreadableError(EMPTY)
    if "\0" in text:
        raise UnreadableError(BINARY)
    return Dialect(encoding, delimiter or detect_delimiter(text))


def read_column_name(cell: str) -> str:
    """Return the name of a column in one line, because browsers change line ends when they send a form."""
    return " ".join(line.strip() for line in cell.strip(" \t\r\n\ufeff\u00a0").splitlines())


def _detect_encoding(head: bytes, survey: EncodingSurvey) -> str:
    if head.startswith(_UTF_16_MARKS):
        return "utf-16"
    sample = head[:4096]
    if len(sample) > 1 and b"\0" in sample:  # other encodings have no zero bytes in text
        even_zeros, odd_zeros = sample[::2].count(0), sample[1::2].count(0)
        if max(even_zeros, odd_zeros) < len(sample) // 8:
            raise UnreadableError(BINARY)
        return "utf-16-le" if odd_zeros > even_zeros else "utf-16-be"
    if survey.is_utf8 or head.startswith(codecs.BOM_UTF8):
        return "utf-8-sig"
    try:
        return judge_encoding(survey.sample)
    except UnclearEncodingError:
        raise OpenEncodingError(UNCLEAR) from None


def detect_delimiter(text: str) -> str:
    """Return the separator that gives the most rows as many cells as the header, then the most cells; by
    default a comma.
    """
    # Split lines like csv.reader, which knows fewer line ends than str.splitlines.
    lines = list(islice(io.StringIO(text.lstrip("\ufeff"), newline=""), _TRIED_LINES))
    separator_line = SEPARATOR_LINE.fullmatch(lines[0]) if lines else None
    if separator_line and separator_line[1] in DELIMITERS:
        return separator_line[1]
    scores = {delimiter: _score(lines, delimiter) for delimiter in DELIMITERS}
    best = max(scores, key=lambda delimiter: scores[delimiter])
    return best if scores[best] > (0.0, 0) else ","


def _score(lines: list[str], delimiter: str) -> tuple[float, int]:
    rows = list(_parse_rows(lines, delimiter))
    if not rows or len(rows[0]) < 2:
        return 0.0, 0
    if len(rows) > 2 and not lines[-1].endswith("\n"):
        rows.pop()  # it may be cut off
    equal_count = sum(len(row) == len(rows[0]) for row in rows)
    return equal_count / len(rows), len(rows[0])


def _parse_rows(lines: list[str], delimiter: str) -> Iterator[list[str]]:
    try:
        yield from (row for row in csv.reader(lines, delimiter=delimiter) if row)
    except csv.Error:
        return
