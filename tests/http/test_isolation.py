"""One Space never sees or touches another.

Every operation of the API has a row in MATRIX. For each id, address and cursor that a request can contain,
the row has the answer for a value that the Space doesn't have. Rows are built from the API's own table and
from OWN. A value of another Space must get exactly the same bytes and change nothing there. The other Space
also has twins of the first one's rows, with the same ids, so a statement that forgets to filter by Space is
noticed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import httpx
import psycopg
import pytest

from headwater.api.operations import OPERATIONS, PREFIX, describe_api
from headwater.attribution.trained_models import store
from headwater.intake.ingest.payload import TrackPayload
from tests.conftest import Running, client_for
from tests.http.isolation_matrix import MATRIX, NAMES_NOTHING, OWN, UNKNOWN, Row
from tests.support.factories import Stage, make_stage
from tests.support.pipeline import Stage as Pipeline
from tests.support.pipeline import event, touch
from tests.support.two_spaces import CLAIMS, add_journey, add_twins, read_all_rows

SEVERAL = [
    name for name, row in MATRIX.items() if len({kind for kind, _ in row.names.values()} - {"cursor"}) > 1
]
METHODS = {operation.id: operation.method for operation in OPERATIONS}
PLACES = [(name, reference) for name, row in MATRIX.items() for reference in row.names]


@dataclass(frozen=True)
class Target:
    """An operation, and the parts of its request."""

    method: str
    path: str
    status: int
    """The status for a request that refers to the Space's own things."""
    places: frozenset[str]
    """Positions of a request's possible values, as `path.id`, `query.email`, `body.name`."""
    required: frozenset[str]
    """Positions that must have a value."""


@dataclass(frozen=True)
class Side:
    """A Space, a client with its key, and its things by kind."""

    client: httpx.Client
    stage: Stage
    objects: dict[str, list[Any]]

    def own(self, operation: Target, row: Row) -> dict[str, Any]:
        """Return one of this Space's things for each position that requires one."""
        references = row.names.keys() & operation.required
        return {reference: self.objects[row.names[reference][0]][0] for reference in references}

    def send(
        self, operation: Target, row: Row, values: dict[str, Any], **options: dict[str, Any]
    ) -> httpx.Response:
        """Send a request with these values at their positions, plus `options`."""
        path, params = operation.path, {**options.get("params", row.views[0])}
        body = None if row.body is None else {**options.get("body", {}), **row.body}
        for reference, value in values.items():
            location, _, name = reference.partition(".")
            if location == "path":
                path = path.replace(f"{{{name}}}", quote(str(value), safe=""))
            elif location == "query":
                params[name] = value
            else:
                assert body is not None
                body[name] = value
        content: dict[str, Any] = {"json": body} if row.file is None else {"content": row.file}
        return self.client.request(operation.method, path, params=params, **content)

    def stored_rows(self) -> dict[str, list[str]]:
        """Return everything stored for this Space."""
        return read_all_rows(self.stage)


@pytest.fixture(autouse=True)
def _small_training(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lower the number of conversions that a trained model needs."""
    monkeypatch.setattr(store, "FEWEST_CONVERSIONS", 1)


@contextmanager
def making_sides(server: Running, connection: psycopg.Connection) -> Iterator[Callable[..., Side]]:
    """Make Spaces with a journey, and optionally with twins of another Space's rows."""
    with ExitStack() as stack:

        def make(original: Side | None = None) -> Side:
            stage = make_stage(connection)
            client = stack.enter_context(client_for(server, stage.key))
            if original:
                add_twins(original.stage, stage)
            return Side(client, stage, add_journey(stage, client))

        yield make


def only_reads(request: pytest.FixtureRequest) -> bool:
    callspec = getattr(request.node, "callspec", None)
    return callspec is not None and METHODS.get(callspec.params.get("name")) == "GET"


@pytest.fixture(scope="module")
def targets() -> dict[str, Target]:
    document = describe_api()
    operation_targets: dict[str, Target] = {}
    for operation in OPERATIONS:
        description = document["paths"][PREFIX + operation.path][operation.method.lower()]
        places = dict(describe_positions(description, document))
        required = frozenset(reference for reference, is_required in places.items() if is_required)
        operation_targets[operation.id] = Target(
            operation.method, operation.path, operation.status, frozenset(places), required
        )
    return operation_targets


def describe_positions(operation: dict[str, Any], document: dict[str, Any]) -> Iterator[tuple[str, bool]]:
    """Yield every position that the document describes, and whether it is required."""
    for parameter in operation.get("parameters", []):
        name = parameter["name"].partition("[")[0]
        yield f"{parameter['in']}.{name}", parameter["required"]
    if "requestBody" in operation:
        content = operation["requestBody"]["content"].get("application/json", {})
        schema = content.get("schema", {"properties": {}})
        if "$ref" in schema:
            schema = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
        for name in schema["properties"]:
            yield f"body.{name}", name in schema.get("required", [])


def test_every_operation_has_its_row(targets: dict[str, Target]) -> None:
    assert set(targets) == set(MATRIX)
    assert set(OWN) <= set(MATRIX)


@pytest.mark.parametrize("name", MATRIX)
def test_every_place_that_names_something_is_tried(targets: dict[str, Target], name: str) -> None:
    harmless = {
        f"{location}.{field_name}" for location, names in NAMES_NOTHING.items() for field_name in names
    }
    if name == "create_event":  # matched when it is processed, which is tested below
        harmless |= {f"body.{field_name}" for field_name in TrackPayload.__struct_fields__}
    assert targets[name].places - harmless == set(MATRIX[name].names)


@pytest.mark.parametrize(("name", "reference"), PLACES)
def test_what_belongs_to_another_space_is_like_an_unknown_one(
    side: Side, other_side: Side, targets: dict[str, Target], name: str, reference: str
) -> None:
    operation, row = targets[name], MATRIX[name]
    kind, status = row.names[reference]
    foreign = [fetch_cursor(other_side, operation, row)] if kind == "cursor" else other_side.objects[kind]
    unknown = side.send(operation, row, {**side.own(operation, row), reference: UNKNOWN[kind]})
    assert unknown.status_code == status
    for value in foreign:
        before = other_side.stored_rows()
        assert_same(side.send(operation, row, {**side.own(operation, row), reference: value}), unknown)
        assert other_side.stored_rows() == before
        inside = other_side.send(operation, row, {**other_side.own(operation, row), reference: value})
        is_known = (inside.status_code, inside.content) != (unknown.status_code, unknown.content)
        assert is_known or other_side.stored_rows() != before, "means nothing in its own Space either"


@pytest.mark.parametrize("name", SEVERAL)
def test_things_of_another_space_that_fit_together(
    side: Side, other_side: Side, targets: dict[str, Target], name: str
) -> None:
    operation, row = targets[name], MATRIX[name]
    foreign, before = other_side.own(operation, row), other_side.stored_rows()
    unknown = {reference: UNKNOWN[row.names[reference][0]] for reference in foreign}
    assert_same(side.send(operation, row, foreign), side.send(operation, row, unknown))
    assert other_side.stored_rows() == before
    assert other_side.send(operation, row, foreign).status_code == operation.status


def fetch_cursor(side: Side, operation: Target, row: Row) -> str:
    """Return the cursor of the second page of a Space's list."""
    values = side.own(operation, row)
    page = side.send(operation, row, values, params={**row.views[0], "per_page": 1})
    return page.json()["next_cursor"]


def strip_snapshot(content: bytes) -> bytes:
    """Return an answer without its time of reading."""
    return re.sub(rb'"(snapshot|taken_at)":"[^"]*"', b"", content)


def assert_same(response: httpx.Response, unknown_response: httpx.Response) -> None:
    assert response.status_code == unknown_response.status_code
    assert response.content == unknown_response.content
    assert response.headers.keys() == unknown_response.headers.keys()


def test_reading_is_the_same_with_and_without_the_other_space(
    make_side: Callable[..., Side], targets: dict[str, Target]
) -> None:
    side = make_side()

    def read() -> dict[tuple[str, int], bytes]:
        answers = {
            (name, number): side.send(operation, row, side.own(operation, row), params=view)
            for name, operation in targets.items()
            if operation.method == "GET"
            for row in [MATRIX[name]]
            for number, view in enumerate(row.views)
        }
        assert {answer.status_code for answer in answers.values()} == {200}
        return {request: strip_snapshot(answer.content) for request, answer in answers.items()}

    answers = read()
    assert [request for request, content in answers.items() if b'"data":[]' in content] == []
    make_side(original=side)
    assert read() == answers


CHANGES_NOTHING = {"check_spend_connection"}
"""Operations without GET that still change nothing, because they only call other services."""
NOT_RECORDED = {
    "create_event": "ingestion, which is counted",
    "create_events": "ingestion",
    "create_touchpoints": "ingestion",
    "check_spend_connection": "asks the platform",
    "test_destination": "sends a made-up event",
    "pull_spend_connection": "pulls what is due later anyway",
    "fetch_watched_file": "fetches what is due later anyway",
}
"""Operations that change no setting, access or stored record, and so aren't in the audit log."""
ALREADY_SO = dict.fromkeys(
    ("resume_spend_connection", "resume_watched_file", "choose_trained_model"), "the Space's is like this"
)


@pytest.mark.parametrize("name", MATRIX)
def test_a_request_reaches_only_its_own_space(
    side: Side, other_side: Side, targets: dict[str, Target], name: str
) -> None:
    """Even if rows there have the same ids and the request contains that Space's id. A change adds one entry
    to the audit log.
    """
    operation, row = targets[name], MATRIX[name]
    foreign_ids = {
        "space_id": other_side.stage.space_id,
        "contact_id": other_side.objects["contact"][0],
        "profile_id": other_side.objects["contact"][0],
        "company_id": other_side.objects["company"][0],
    }
    other_rows, own_rows = other_side.stored_rows(), side.stored_rows()
    params = {**row.views[0], **foreign_ids}
    response = side.send(operation, row, side.own(operation, row), params=params, body=foreign_ids)
    assert response.status_code == operation.status
    assert other_side.stored_rows() == other_rows
    current_rows = side.stored_rows()
    assert (current_rows == own_rows) == (operation.method == "GET" or name in CHANGES_NOTHING)
    new_entries = set(current_rows["audit_entries"]) - set(own_rows["audit_entries"])
    actions = [json.loads(row)["action"] for row in new_entries]
    expects_none = operation.method == "GET" or name in NOT_RECORDED | ALREADY_SO
    assert actions == ([] if expects_none else [name])


@pytest.mark.parametrize("mode", ["auto", "external_id"])
def test_processing_reaches_only_its_own_space(side: Side, other_side: Side, mode: str) -> None:
    """An event and a touchpoint have every identifier of the other Space. Another event merges two contacts
    and renames a company, whose twins must not change.
    """
    side.stage.connection.execute(
        "UPDATE spaces SET company_identity_mode = %s WHERE id = %s", (mode, side.stage.space_id)
    )
    other_rows, tag = other_side.stored_rows(), f"{other_side.stage.space_id}"
    pipeline = Pipeline(side.stage.connection, side.stage.space_id)
    people, companies = (pipeline.values(table, "id") for table in ("contacts", "companies"))
    pipeline.run(
        event(email=other_side.objects["email"][0], tracking_id=f"crm-{tag}", trk_token=f"tok-{tag}",
              fingerprint=f"fp-{tag}", ip="192.0.2.1", order_id=f"{tag}-0",
              company_external_id=tag, trk_source="sms"),
        event(email=side.objects["email"][0], tracking_id=f"crm-sharing-{side.stage.space_id}",
              company_external_id=CLAIMS["external_id"], company_name="Eve"),
        touch(email=other_side.objects["email"][0], trk_token=f"tok-{tag}", source="direct"),
    )  # fmt: skip
    assert other_side.stored_rows() == other_rows
    contact_id, _, sharing_id = side.objects["contact"]
    assert (sharing_id, contact_id) in pipeline.rows("contacts", "id", "merged_into")
    ids_by_table = {table: pipeline.values(table, "id") for table in ("contacts", "companies")}
    assert [len(ids) for ids in ids_by_table.values()] == [len(people) + 1, len(companies) + 1]
    for table in ("contacts", "events", "touchpoints"):
        assert set(pipeline.values(table, "company_id")) <= {None, *ids_by_table["companies"]}
