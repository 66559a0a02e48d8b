"""Asks marketers' questions of your own server.

python -m tests.assistants --build postgresql://…          the shop in a new Space, and a token
python -m tests.assistants --url http://…/mcp/1/public-api --token trk_mcp_…
python -m tests.assistants --record                        record the right answers again
"""

# ruff: noqa: T201 # it speaks to a terminal

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path

import psycopg

from headwater.database.embedded import Embedded
from headwater.intake.inbox.queue import wait_until_processed
from tests.assistants.asking import Tools, ask
from tests.assistants.catalogue import read_answers, read_questions, record
from tests.assistants.installing import install, make_token
from tests.assistants.shop import make_shop


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.assistants",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--build",
        metavar="DATABASE",
        help="put the shop into a database: its URL, or the data directory of a running server",
    )
    parser.add_argument("--url", help="of the assistants' endpoint of the shop's Space")
    parser.add_argument("--token", help="of a member of it")
    parser.add_argument("--record", action="store_true", help="write down what is right")
    parser.add_argument("--only", default="", help="only questions whose id contains this")
    options = parser.parse_args()
    if options.record:
        print(record(make_shop()), "answers are written down")
        return 0
    if options.build:
        build(options.build)
        return 0
    if not options.url or not options.token:
        parser.error("--url and --token are needed, or --build, or --record")
    return put_all(Tools(options.url, options.token), options.only)


def build(database: str) -> None:
    """Put the shop into a database, and print the address and the token of its Space."""
    url = database if "://" in database else Embedded(Path(database)).url
    with psycopg.connect(url, autocommit=True) as connection:
        stage = install(connection, make_shop())
        token = make_token(connection, stage.space_id)
        # The server's own worker may be processing some of it.
        assert wait_until_processed(connection, timeout=60)
    print(f"--url http://127.0.0.1:8080/mcp/{stage.space_id}/public-api --token {token}")


def put_all(tools: Tools, name: str) -> int:
    """Ask every question, and print its outcome."""
    right, counts, tokens = read_answers(), Counter[str](), 0
    for question in read_questions():
        if name not in question.id:
            continue
        outcome = ask(tools, question, right[question.id])
        tokens = max(tokens, outcome.tokens)
        verdict = "right" if outcome.trouble is None else "wrong"
        if outcome.trouble and question.missing_abilities:
            verdict = "to come"
        counts[verdict] += 1
        detail = outcome.trouble or f"{outcome.answer!r}"
        print(f"{verdict:8}{question.id:32}{outcome.tokens:6}  {detail[:100]}")
    print(*(f"{count} {verdict}" for verdict, count in counts.items()), sep=", ", end="; ")
    print(f"the longest answer has {tokens} tokens")
    return 1 if counts["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())
