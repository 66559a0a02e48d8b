"""Our own checks in addition to those of schemathesis: they verify the rule behind an answer that the general
checks merely allow.
"""

from __future__ import annotations

import re
from typing import Any

import schemathesis
from schemathesis.core.parameters import ParameterLocation
from schemathesis.specs.openapi.checks import ensure_resource_availability

UNSTATED = re.compile(
    r"^The \S+ ("
    r"must be after start_date\."
    r"|must not be given with (start_date and end_date|attribution_model)\."
    r"|cannot be read; there are: .*"
    r"|must be a JSON list of objects, or be given as .*"
    r"|must begin with a measure that adds up if share is included\."
    r"|must be from .* if several models are compared\."
    r"|must not combine none with other groups\."
    r"|must be one of the requested measures or groups\."
    r"|cannot (have|be) (day|week|month|previous_\w+): .*"
    r"|must not be less than amount_min\."
    r"|must be (all, )?credited or touched if .*"
    r"|must have 1 to 512 characters\."
    r"|is required with (sources|start_date|end_date)\."
    r"|is required unless email is given\."
    r"|must not have more than 100 addresses\."
    r"|can have .* only with sources\."
    r"|is not a cursor of this list\."
    r"|is not known: did you mean .*\? It must be one of .*"
    r"|must only be given with markov\."
    r"|must have 1 to 100 printable characters\."
    r"|must be a date( and time)? that exists?\."
    r"|must be a month that exists\."
    r"|must not begin after this month\."
    r"|must begin in the last 60 months\."
    r"|needs acquired\."
    r"|must not depend on contact fields or companies: their former states are not stored\."
    r"|must add up, so that differences can be split by cause: .*"
    r"|must be left out: former campaign names are not stored\. .*"
    r"|must be profile: former companies are not stored\."
    r"|must be the snapshot of a report, or a moment such as 2026-05-13 00:00:00\."
    r"|must not combine unattributed with other keys\."
    r"|must not be before start(_date)?\."
    r"|must be between 2000-01-01 and 24 hours from now, in seconds if Unix\."
    r"|must not be a local file: .*"
    r"|must be (like (one of )?\w+://|at most \d+ printable characters of ASCII|public: ).*"
    r"|must (have no user or|have a plain host|have no fragment|name a file without) .*"
    r"|must be a destination of the same platform, with tokens that can be read\."
    r"|is not one of [a-z_, ]+\."  # of a stored object's kind
    r"|must be an ISO 8601 date-time or a Unix timestamp in seconds\."
    r"|must be a date \(YYYY-MM-DD\) or an ISO 8601 date-time\."
    r"|must be a valid e-mail address\."
    r"|must not be blank(; leave it out for the first page)?\."
    r"|must be a domain below a public suffix, such as acme\.com or acme\.co\.uk\."
    r"|must have a letter or a digit, and no control characters\."
    r"|names \w+:.* must be one of .*"
    r"|must be one of .*Add other platforms .*"
    r"|(spelling )?\S+ belongs to (your network )?\S+\."
    r"|must be \S+: companies are grouped by their registrable domain\."
    r"|must be a company's own domain: anyone can have an address at \S+\."
    r"|must be a finite number between -1000000000000000000000000 and 1000000000000000000000000\."
    r"|must be from (0|-100000000000000) to 100000000000000\."
    r"|cannot be amount with sources\."
    r"|cannot be given with whole_range\."
    r"|cannot be gzip with parquet, which is compressed inside\."
    r"|is already used by another schedule\."
    r"|is not part of an export of \w+\."
    r"|must not be in the future, or more than ten years back\."
    r"|must not be more than ten years later\."
    r"|must not contain NUL characters\."
    r")$"
    r"|^The .* must not hold (numbers with fractions, arrays or objects|empty objects)\.$"
    r"|^The (?![a-z0-9_.]+ must).* must not be empty\.$"
    r"|^The company_id must be an integer of at most 18 digits\.$"
    r"|^The ads\.\d+\.id must be a string of at most 512 characters or an integer\.$"
    r"|^The (settings|secrets)\..* (is not one of|is required\.|is not a value|must (not )?\w+ )"
    r"|^The event_names\.\w+ must be (the id of .*|null or a text of at most 255 characters\.)$"
    r"|^The name must be a text of 1 to 255 characters without control characters\.$"
    r"|^The secrets (must be entered again because HEADWATER_SECRET_KEY has changed|cannot be used): "
    r"|^The delivery_ids must "
    r"|^The model markov needs a trained model: "
    r"|^There (is no trained model of this name|is already a trained model named)"
    r"|^There are current trained models for"
    r"|conversions with a touchpoint in this time and window; training needs "
    r"|^The rates\.\d+ must have two different currencies\.$"
    r"|^The rates\.\d+\.rate must be from 0\.000000000001 to 1000000000000\.$"
    r"|^The spend\.\d+\.\w+ must "
    r"|^The as_of must "
    r"|^The (since|start_date|end_date) is required\.$"
    r"|^The spend\.\d+ must have an? \w+, because it has an? \w+\.$"
    r"|^The .* holds (a NUL character|a key with NUL or text that is not Unicode)\.$",
    re.DOTALL,
)
"""Rules that the document's schemas can't express: between parameters, on the calendar, the clock and the
Space, on integers with a decimal point, NUL, empty arrays under names that no member of the API can have,
domains of companies, a destination platform's requirements, URLs of files, and control characters.
"""


REFUSED_SNAPSHOTS = {"too_old", "other_question"}
"""Reasons for refusals that name no rule of a parameter."""


MOST_DRAWN = 20


@schemathesis.hook
def before_load_schema(_ctx: schemathesis.HookContext, document: dict[str, Any]) -> None:
    """Remove the limit on the number of sources where it is high: drawing that many different names from
    their pattern takes longer than everything else. test_schemathesis.py tests the limit itself.
    """
    for methods in document["paths"].values():
        for operation in methods.values():
            for parameter in operation.get("parameters", ()):
                schema = parameter.get("schema", {})
                if parameter["name"] == "sources" and schema["maxItems"] > MOST_DRAWN:
                    del schema["maxItems"]


@schemathesis.check
def refused_only_for_unstated_rules(
    _ctx: schemathesis.CheckContext, response: schemathesis.Response, case: schemathesis.Case
) -> None:
    """A request that matches the document is refused only for a rule that the document states in words."""
    meta = case.meta
    if meta is None or not meta.generation.mode.is_positive or response.status_code != 422:
        return
    answer = response.json()
    is_file = response.request.method == "POST" and case.path.endswith("/imports")
    if is_file or answer.get("reason") in REFUSED_SNAPSHOTS:
        return  # a file's requirements depend on its cells
    for rules in answer["errors"].values():
        for rule in rules:
            assert UNSTATED.search(rule), f"refused although it fits the document: {rule}"


@schemathesis.check
def invalid_items_are_refused_in_their_batch(
    _ctx: schemathesis.CheckContext, response: schemathesis.Response, case: schemathesis.Case
) -> None:
    """When a batch violates the document but is accepted, the answer identifies the invalid item."""
    meta = case.meta
    if meta is None or not meta.is_negative_at(ParameterLocation.BODY):
        return
    json_body = case.media_type == "application/json"
    if json_body and response.status_code == 202 and case.path.endswith("/batch"):
        results = response.json()["results"]
        assert any(result["status"] == "invalid" for result in results), "nothing was refused"


@schemathesis.check
def what_was_made_is_there(
    ctx: schemathesis.CheckContext, response: schemathesis.Response, case: schemathesis.Case
) -> bool | None:
    """The general check attributes every 404 to the id in the path. A company in the body can be missing,
    too.
    """
    names_company = isinstance(case.body, dict) and "company_id" in case.body
    if names_company and response.json().get("message") == "Company not found.":
        return None
    return ensure_resource_availability(ctx, response, case)
