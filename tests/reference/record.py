"""`python -m tests.reference.record`: write the answers of a new installation into the examples."""

from __future__ import annotations

import json
import re
import tempfile
from pathlib import Path
from typing import Any

import headwater.api.reference
from tests.reference.sending import JOBS, make_plain_sender, new_installation, send_all

FILE = Path(headwater.api.reference.__file__).with_name("examples.json")
LONGEST_LIST = 3


def record() -> None:
    examples = json.loads(FILE.read_text())
    with tempfile.TemporaryDirectory() as folder, new_installation(Path(folder)) as (client, data):
        for name, text in send_all(client, data, make_plain_sender(client)):
            answer = _tidy(text.replace(str(client.base_url).rstrip("/"), "https://hw.example.com"))
            examples[name]["response"] = _shorten(answer)
            for key in JOBS.values():
                if key in examples[name].get("path", {}):
                    examples[name]["path"] = {key: str(answer[key])}
    FILE.write_text(json.dumps(examples, indent=1, ensure_ascii=False) + "\n")


def _tidy(text: str) -> Any:
    return json.loads(re.sub(r"signature=[\w-]+", "signature=…", text))


def _shorten(value: Any) -> Any:
    if isinstance(value, list):
        return [_shorten(item) for item in value[:LONGEST_LIST]]
    if isinstance(value, dict):
        return {name: _shorten(item) for name, item in value.items()}
    return value


if __name__ == "__main__":
    record()
