"""`headwater check`: risks of this installation, with reason and remedy."""

from __future__ import annotations

import os
import textwrap
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from headwater import __version__
from headwater.base.settings import Settings
from headwater.operations.safety.inspection import inspect
from headwater.operations.safety.models import Risk
from headwater.operations.terminal.command import Command
from headwater.operations.terminal.connection import database_url, explain_failures
from headwater.operations.terminal.options import JSON
from headwater.operations.terminal.output import print_output

WIDTH = 100
NOTHING = "Nothing unsafe was found."


def check(settings: Settings, arguments: Namespace) -> int:
    """Print the risks. Return 1 if any is more than a notice."""
    with explain_failures(settings):
        risks = inspect(settings, database_url(settings), os.environ)
    print_output(_describe(risks) if arguments.json else _write(risks), as_json=arguments.json)
    return int(any(risk.fails for risk in risks))


def _describe(risks: Sequence[Risk]) -> dict[str, Any]:
    return {
        "version": __version__,
        "safe": not any(risk.fails for risk in risks),
        "risks": [asdict(risk) for risk in risks],
    }


def _write(risks: Sequence[Risk]) -> str:
    return "\n\n".join(map(_paragraph, risks)) or NOTHING


def _paragraph(risk: Risk) -> str:
    lines = [
        f"{risk.severity.upper()}  {risk.id}: {risk.subject}",
        *(
            textwrap.fill(text, WIDTH, initial_indent="  ", subsequent_indent="    ")
            for text in (f"Why: {risk.why}.", f"Do: {risk.remedy}.")
        ),
    ]
    return "\n".join(lines)


command = Command(check, JSON)
