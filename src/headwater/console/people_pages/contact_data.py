"""Download everything stored about a contact, to answer a person's request for it."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from headwater.console.people_pages.contact import contact_page
from headwater.console.visitor import HOME, enter, read_id, require_visitor
from headwater.endpoints.services import services
from headwater.people.contacts.lookup import resolve
from headwater.people.contacts.queries import queries as contact_queries
from headwater.privacy.disclosure import DISCLOSURE_SECONDS, disclose
from headwater.spaces.accounts.roles import Permission

MOST_LINES = 50_000
TOO_MUCH = (
    f"This person has more than {MOST_LINES:,} rows, too many for a download. "
    "On the server, headwater contact data writes them all."
)


async def download_data(request: Request) -> Response:
    visitor = await require_visitor(request)
    async with services(request).database.transaction(DISCLOSURE_SECONDS) as connection:
        await connection.execute(contact_queries["snapshot"])
        inside = await enter(connection, request, visitor, Permission.WRITE_DATA)
        contact_id = await resolve(connection, inside.space.id, read_id(request, "contact_id"))
        lines: list[bytes] = []
        async for lines_of_record in disclose(connection, inside.space, contact_id, MOST_LINES + 1):
            lines += lines_of_record
            if len(lines) > MOST_LINES:
                break
    if len(lines) > MOST_LINES:
        return await contact_page(request, inside, contact_id, status=422, problem=TOO_MUCH)
    headers = {"Content-Disposition": f'attachment; filename="contact-{contact_id}.ndjson"'}
    return Response(b"".join(lines), 200, headers, "application/x-ndjson")


ROUTES = [
    Route(f"{HOME}/spaces/{{space_id}}/contacts/{{contact_id}}/data.ndjson", download_data, methods=["GET"])
]
