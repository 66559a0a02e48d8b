"""The table of operations is consistent, and the routes made from it answer by path and method."""

from __future__ import annotations

import re
from collections.abc import Callable

import httpx
import pytest

from headwater.api.operations import OPERATIONS, RATE_LIMITS
from headwater.endpoints.operations import Operation, limits_by_bucket
from headwater.endpoints.router import path_routes
from headwater.http.health import healthz
from headwater.http.rate_limits import RateLimit
from headwater.intake.ingest.endpoints import TRACKING
from headwater.spaces.keys import SCOPES
from tests.conftest import Running, client_for

METHODS = {"DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"}


def test_it_works() -> None:
    assert len({operation.id for operation in OPERATIONS}) == len(OPERATIONS)
    assert RATE_LIMITS["track"] == TRACKING


def test_every_scope_opens_something() -> None:
    assert {operation.scope for operation in OPERATIONS} == set(SCOPES)


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.id)
def test_a_path_names_its_parameters(operation: Operation) -> None:
    names = re.findall(r"\{(\w+)\}", operation.path)
    assert [parameter.name for parameter in operation.path_parameters] == names


def test_only_what_carries_the_traffic_has_no_handler() -> None:
    operations_without_handler = {operation.id for operation in OPERATIONS if operation.handler is None}
    assert operations_without_handler == {"create_event", "create_events", "create_touchpoints"}


def test_a_bucket_has_one_limit() -> None:
    limits = [RateLimit("list", 30), RateLimit("list", 30)]
    assert limits_by_bucket(limits) == {"list": RateLimit("list", 30)}
    with pytest.raises(ValueError, match="list"):
        limits_by_bucket([*limits, RateLimit("list", 60)])


def test_fixed_segments_come_before_parameters() -> None:
    paths = ["/a/{id}", "/a/{id}/b", "/a", "/a/x/{id}", "/a/x"]
    routes = path_routes({("GET", path): healthz for path in paths})
    assert [route.path for route in routes] == ["/a", "/a/x", "/a/x/{id}", "/a/{id}", "/a/{id}/b"]


@pytest.mark.parametrize("path", sorted({operation.path for operation in OPERATIONS}))
def test_a_path_names_the_methods_it_has(
    server: Running, space_id: int, make_key: Callable[..., str], path: str
) -> None:
    methods = {str(operation.method) for operation in OPERATIONS if operation.path == path}
    allowed_methods = methods | {"HEAD"} if "GET" in methods else methods
    with client_for(server, make_key(space_id)) as client:
        for method in METHODS - allowed_methods:
            refusal = client.request(method, re.sub(r"\{\w+\}", "1", path))
            assert refusal.status_code == httpx.codes.METHOD_NOT_ALLOWED
            assert refusal.headers["allow"] == ", ".join(sorted(allowed_methods))
