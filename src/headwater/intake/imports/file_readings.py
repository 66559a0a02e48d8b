"""The table, columns and notation of a file, detected or chosen by the user."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing

from msgspec import Struct

from headwater.intake.imports.formats.choices import FileChoices
from headwater.intake.imports.formats.columns import Columns
from headwater.intake.imports.formats.dialects import UnreadableError
from headwater.intake.imports.formats.files import RowSource
from headwater.intake.imports.formats.guesses import guess_columns
from headwater.intake.imports.formats.notation import Notation, NotationSurvey
from headwater.intake.imports.kinds import KINDS, ImportKind
from headwater.intake.imports.orders.layouts import read_columns
from headwater.intake.imports.spend import read_table


class FileReading(Struct, frozen=True):
    source: RowSource
    columns: Columns
    notation: Notation


def read_file(
    kind: str, source: RowSource, choices: FileChoices, constants: Mapping[str, str]
) -> FileReading:
    """Raise UnreadableError if unclear."""
    fields = KINDS[kind].fields
    columns = Columns(fields, choices.mapped, (), tuple(sorted(constants.items())))
    if kind == "spend" and source.form == "csv":
        source, columns = read_table(source, choices, constants)
    header = source.columns()
    if kind == "orders" and header is not None:
        columns = read_columns([column for column in header if column], choices)
    columns.check(header)
    if header is None:
        return FileReading(source, columns, Notation())
    if not columns.mapped and fields and not set(header) & set(fields):
        raise UnreadableError(_explain_unknown(kind, header))
    survey = survey_columns(KINDS[kind], columns, header)
    is_total = KINDS[kind].total_test
    passed_over = is_total(columns) if is_total else None
    with closing(source.rows()) as rows:
        survey.add(row.values for row in rows if passed_over is None or not passed_over(row.values))
    return FileReading(source, columns, survey.decide(choices.decimals, choices.dates))


def survey_columns(kind: ImportKind, columns: Columns, header: list[str]) -> NotationSurvey:
    by_name = {name: column for column, name in columns.mapped}
    left_out = {*by_name.values(), *columns.ignored}
    by_name |= {
        name: name for name in header if name in kind.fields and name not in left_out and name not in by_name
    }

    def list_columns(names: tuple[str, ...]) -> list[str]:
        return [by_name[name] for name in names if name in by_name]

    amounts = tuple(name for name in kind.numbers if name not in kind.counts)
    return NotationSurvey(list_columns(amounts), list_columns(kind.counts), list_columns(kind.times))


def _explain_unknown(kind: str, header: list[str]) -> str:
    guesses = guess_columns(kind, KINDS[kind].fields, header, [])
    hints = " ".join(f"--map '{column}={name}'" for column, name in guesses.items())
    return (
        f"no column is recognized: the file has {', '.join(header)[:300]}. Map columns with --map "
        f"COLUMN=FIELD{f', such as {hints}' if hints else ''}"
    )
