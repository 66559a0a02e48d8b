"""The formats of export files, and their names."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from importlib.util import find_spec


class Format(StrEnum):
    NDJSON = "ndjson"
    CSV = "csv"
    PARQUET = "parquet"


class ParquetMissingError(Exception):
    """Parquet was requested, and its package is not installed."""

    message = "Parquet needs the package headwater[parquet], which is not installed."


@dataclass(frozen=True)
class FileForm:
    format: Format = Format.NDJSON
    by_gzip: bool = True
    """Never true for Parquet, which is compressed inside."""

    @property
    def extension(self) -> str:
        return f".{self.format}{'.gz' if self.by_gzip else ''}"

    @classmethod
    def parse_name(cls, name: str) -> FileForm:
        """Raise ValueError for unknown names."""
        stem = name.removesuffix(".gz")
        return cls(Format(stem.rpartition(".")[2]), stem != name)


EXTENSION = rf"\.(?:(?:{Format.NDJSON}|{Format.CSV})(?:\.gz)?|{Format.PARQUET})"
_NAME = re.compile(rf"(.*?)((?:{EXTENSION})?)", re.DOTALL)


def part_names(file: str, parts: int) -> list[str]:
    """Return an export's files: the first one's own name, then `<stem>-0002.csv` and so on."""
    match = _NAME.fullmatch(file)
    assert match is not None
    stem, extension = match.groups()
    return [file, *(f"{stem}-{number:04}{extension}" for number in range(2, parts + 1))]


def can_write_parquet() -> bool:
    return find_spec("arro3") is not None and find_spec("arro3.io") is not None
