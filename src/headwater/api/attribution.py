"""API endpoints of event attribution and contact journeys. Each handler owns its transaction."""

from __future__ import annotations

from headwater.api.contacts import CONTACT_ID
from headwater.api.events import EVENT_ID
from headwater.endpoints.calls import Call
from headwater.endpoints.operations import Operation
from headwater.events.journey_amounts import with_amounts
from headwater.http.inputs.pagination import answer_page
from headwater.http.rate_limits import RateLimit
from headwater.people.contacts import parameters
from headwater.people.contacts.answers import JourneyPage
from headwater.people.contacts.journey import list_journey
from headwater.people.contacts.lookup import resolve
from headwater.people.contacts.queries import queries
from headwater.reports.explanation import (
    PARAMETERS,
    AttributionExplanation,
    describe_explanation,
    explain_event,
    read_path,
)
from headwater.spaces.spaces import fetch_space


async def get_event_attribution(call: Call) -> AttributionExplanation:
    """Get the path to an event with the rule behind each source, and each touchpoint's credit under every
    attribution model.
    """
    event_id = call.path_id("event_id")
    window_days, by_company, trained_model = read_path(call.query)
    async with call.services.database.transaction() as connection:
        explanation = await explain_event(
            connection,
            call.space_id,
            event_id,
            window_days,
            by_company=by_company,
            trained_model=trained_model,
        )
    return describe_explanation(explanation, window_days)


async def get_contact_journey(call: Call) -> JourneyPage:
    """List a contact's conversions and touchpoints, newest first."""
    contact_id = call.path_id("id")
    signing_key = call.services.signing_key
    cursors = parameters.journey_cursors(call.query, signing_key, call.space_id, contact_id)
    request = parameters.read_list_journey(call.query, cursors)
    async with call.services.database.transaction() as connection:
        await connection.execute(queries["snapshot"])
        canonical = await resolve(connection, call.space_id, contact_id)
        space = await fetch_space(connection, call.space_id)
        page = await list_journey(connection, space, canonical, request)
        page = await with_amounts(connection, space.id, page)
    return answer_page(JourneyPage, page, request.per_page, call.page_link(cursors))


OPERATIONS = (
    Operation(
        id="get_event_attribution",
        method="GET",
        path="/events/{event_id}/attribution",
        tag="Reports",
        summary="Get Event Attribution",
        scope="reports:read",
        limit=RateLimit("get_event_attribution", 30),
        path_parameters=[EVENT_ID],
        parameters=[parameter.openapi() for parameter in PARAMETERS],
        answer=AttributionExplanation,
        errors=[404],
        handler=get_event_attribution,
    ),
    Operation(
        id="get_contact_journey",
        method="GET",
        path="/contacts/{id}/journey",
        tag="Reports",
        summary="Get Contact Journey",
        scope="reports:read",
        limit=RateLimit("get_contact_journey", 30),
        path_parameters=[CONTACT_ID],
        parameters=parameters.JOURNEY_DOCUMENTATION,
        answer=JourneyPage,
        errors=[404],
        handler=get_contact_journey,
    ),
)
