"""Detect an encoding by byte order mark, zero bytes or valid UTF-8; otherwise by trying which one-byte
encoding makes words. Pure.
"""

from __future__ import annotations

import codecs
import re
import unicodedata
from collections import Counter
from dataclasses import dataclass, field
from itertools import islice

ENCODINGS = {
    "utf-8-sig": "UTF-8",
    "utf-16": "UTF-16",
    "utf-16-le": "UTF-16 LE",
    "utf-16-be": "UTF-16 BE",
    "cp1252": "Windows-1252",
    "cp1250": "Windows-1250",
    "cp1251": "Windows-1251",
    "mac_roman": "MacRoman",
    "cp932": "Shift-JIS",
}
CHOICES = {name.lower(): codec for codec, name in ENCODINGS.items()}

_OLDER = ("cp1252", "cp1250", "mac_roman", "cp1251", "cp932")
"""Ties go to the first."""
_SAMPLE_BYTES = 16 * 1024
_LINE_BYTES = 1024
_ALIKE = frozenset(b"\x8a\x8e\x9a\x9e\x9f")
"""Rare letters in Windows-1252 and 1250 (Š, Ž, š, ž, Ÿ, ź), but frequent in MacRoman (ä, é, ö, û, ü)."""
_JOINS_WORDS = frozenset("'’‘-–·`´.&@/")  # noqa: RUF001 # apostrophes of several languages
_RUN = 3
"""More accented letters in a row than Western and Central European words have."""


class UnclearEncodingError(Exception):
    """No single encoding makes words of the bytes."""


@dataclass
class EncodingSurvey:
    letters: int = 0
    """Non-ASCII characters, if the file is UTF-8."""
    broken: int = 0
    """Bytes that aren't UTF-8."""
    sample: bytes = b""
    """Lines with non-ASCII bytes."""
    _is_between: bool = False
    """The last chunk may have ended inside a character."""
    _decoder: codecs.IncrementalDecoder = field(
        default_factory=lambda: codecs.getincrementaldecoder("utf-8")("surrogateescape")
    )

    def add(self, chunk: bytes, *, final: bool = False) -> None:
        if chunk.isascii() and not self._is_between:
            return
        text = self._decoder.decode(chunk, final)
        broken_count = len(re.findall("[\udc80-\udcff]", text))
        self.broken += broken_count
        self.letters += sum(map(len, re.findall(r"[^\x00-\x7f]+", text))) - broken_count
        self._is_between = bool(self._decoder.getstate()[0])
        if len(self.sample) < _SAMPLE_BYTES:
            lines = (line[:_LINE_BYTES] for line in chunk.splitlines() if not line.isascii())
            self.sample += b"\n".join((*islice(lines, _SAMPLE_BYTES // 64), b""))

    @property
    def is_utf8(self) -> bool:
        """Return True even if some rows are damaged."""
        return self.broken == 0 or self.letters > self.broken


def judge_encoding(sample: bytes) -> str:
    """Return the legacy encoding that makes words. Raises UnclearEncodingError."""
    sample = sample[: sample.rfind(b"\n", 0, _SAMPLE_BYTES) + 1 or _SAMPLE_BYTES]
    faults = {name: _count_faults(sample, name) for name in _OLDER}
    best = min(_OLDER, key=lambda name: faults[name])
    letters = {byte for byte in sample if byte >= 0x80}
    has_own_letters = any(byte >= 0xC0 for byte in letters)
    unclear = best in ("cp1252", "cp1250") and letters & _ALIKE and not has_own_letters
    if unclear or faults[best] > max(1, len(letters) // 4):
        raise UnclearEncodingError
    return best


def _count_faults(sample: bytes, encoding: str) -> int:
    """Count unlikely characters: undefined bytes, signs inside words, final capitals, mixed alphabets."""
    text = sample.decode(encoding, "replace")
    faults = 3 * text.count("\ufffd")
    if encoding != "cp932":
        faults += _count_long_runs(text) if encoding != "cp1251" else 0
    triples = Counter(zip(f" {text}", text, f"{text[1:]} ", strict=False))
    return faults + sum(
        count
        for (before, letter, after), count in triples.items()
        if not letter.isascii() and letter != "\ufffd" and _is_odd(before, letter, after)
    )


def _is_odd(before: str, letter: str, after: str) -> bool:
    kind = unicodedata.category(letter)
    if kind == "Cc":
        return True
    if kind not in ("Ll", "Lu", "Lo") and _find_script(letter) != "EASTERN":
        is_within = before.isalpha() and after.isalpha() and letter not in _JOINS_WORDS
        return is_within or (before if letter in "¿¡" else after if letter in "®™" else "").isalpha()
    script = _find_script(letter)
    if any(neighbor.isalpha() and _find_script(neighbor) != script for neighbor in (before, after)):
        return True
    if kind != "Lu":
        return False
    is_alone = not before.isalpha() and not after.isalpha()
    return is_alone or before.islower() or (before.isalpha() and after.islower())


def _find_script(letter: str) -> str:
    if letter.isascii():
        return "LATIN"
    name = unicodedata.name(letter, "")
    is_eastern = name.startswith(("HIRAGANA", "KATAKANA", "CJK"))
    return "EASTERN" if is_eastern else name.split(" ", 1)[0]


def _count_long_runs(text: str) -> int:
    runs = re.findall(rf"[^\W\d_a-zA-Z]{{{_RUN},}}", text)
    return sum(map(len, runs))
