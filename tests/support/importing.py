"""Helpers for tests of imports: write a file, import it, read the inbox."""

from __future__ import annotations

import csv
import gzip
import io
import json
from pathlib import Path
from typing import Any

import pytest

from headwater.cli import main
from tests.support.factories import Stage


class Importer:
    """The import command at a terminal."""

    def __init__(self, stage: Stage, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.stage, self.folder, self._capsys = stage, folder, capsys

    def importer_for(self, stage: Stage) -> Importer:
        """Return an importer for another Space."""
        return Importer(stage, self.folder, self._capsys)

    def write(self, name: str, *rows: Any) -> Path:
        """Write a file with these rows, in the format that its name implies."""
        text = io.StringIO()
        if ".csv" in name:
            writer = csv.DictWriter(text, list(dict.fromkeys(key for row in rows for key in row)))
            writer.writeheader()
            writer.writerows(rows)
        else:
            text.writelines(f"{json.dumps(row)}\n" for row in rows)
        content = text.getvalue().encode()
        path = self.folder / name
        path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
        return path

    def run(self, kind: str, file: Path | str, *options: str, status: int = 0) -> dict[str, Any]:
        """Run an import and return its report."""
        self._capsys.readouterr()
        arguments = ["--space", str(self.stage.space_id), str(file), "--json", *options]
        assert main(["import", kind, *arguments]) == status
        return json.loads(self._capsys.readouterr().out)

    def refusal(self, kind: str, file: Path | str, *options: str) -> str:
        """Return the error message for a file that cannot be imported."""
        arguments = ["--space", str(self.stage.space_id), str(file), *options]
        assert main(["import", kind, *arguments]) == 2
        return self._capsys.readouterr().err

    def waiting(self) -> list[tuple[str, dict[str, Any]]]:
        """Return the kind and payload of every row in the inbox."""
        rows = self.stage.connection.execute(
            "SELECT kind, payload::json FROM inbox WHERE space_id = %s ORDER BY id", (self.stage.space_id,)
        )
        return rows.fetchall()

    def payloads(self) -> list[dict[str, Any]]:
        return [payload for _, payload in self.waiting()]


@pytest.fixture
def importer(
    stage: Stage,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    database_url: str,
    monkeypatch: pytest.MonkeyPatch,
) -> Importer:
    monkeypatch.setenv("HEADWATER_DATABASE_URL", database_url)
    return Importer(stage, tmp_path, capsys)
