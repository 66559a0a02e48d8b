"""Options with settings and tokens of an account at another company."""

from __future__ import annotations

import sys
from pathlib import Path

from headwater.base.failure import Failure
from headwater.operations.terminal.command import Option
from headwater.operations.terminal.output import print_note
from headwater.operations.terminal.values import read_pairs

_STANDARD_INPUT = "@-"
_VISIBLE = (
    "headwater: --secret KEY=VALUE is visible to all users of this machine while the command runs,"
    " and stays in the shell's history; use KEY=@FILE or KEY=@-"
)

SETTING = Option(
    "--set", dest="changes", action="append", default=[], metavar="KEY=VALUE", help="a setting; repeatable"
)
SECRET = Option(
    "--secret",
    action="append",
    default=[],
    metavar="KEY=@FILE",
    help="a token, from a file or KEY=@-; repeatable",
)


def read_secrets(texts: list[str]) -> dict[str, str]:
    """Read KEY=VALUE arguments. A VALUE of @FILE or @- is read from a file, because arguments are visible to
    other users. Raise Failure, which never repeats a value.
    """
    if any("=" not in text for text in texts):
        raise Failure("--secret: must be KEY=VALUE, KEY=@FILE or KEY=@-")
    pairs = read_pairs(texts)
    if any(text and not text.startswith("@") for text in pairs.values()):
        print_note(_VISIBLE)
    if list(pairs.values()).count(_STANDARD_INPUT) > 1:
        raise Failure("--secret: only one can be read from standard input")
    return {name: _read_secret(name, text) for name, text in pairs.items()}


def _read_secret(name: str, text: str) -> str:
    if not text.startswith("@"):
        return text
    try:
        if text == _STANDARD_INPUT:
            return sys.stdin.read().strip()
        return Path(text[1:]).read_text(encoding="utf-8").strip()
    except OSError as error:
        raise Failure(f"{name}: {text[1:]}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise Failure(f"{name}: {text[1:]}: is not text") from None
