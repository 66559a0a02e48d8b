"""The page of a Space's MCP settings: the address for assistants, and the tokens they use."""

from __future__ import annotations

from typing import Any

from psycopg import AsyncConnection
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from headwater.console.flash import FlashMessage
from headwater.console.forms import once_token, read_form, read_form_once, spend
from headwater.console.pages import hidden_token, redirect, render
from headwater.console.visitor import HOME, SpaceVisitor, enter, read_space_id, require_visitor
from headwater.endpoints.services import services
from headwater.http.errors import Invalid
from headwater.spaces.accounts import tokens
from headwater.spaces.accounts.roles import Permission
from headwater.spaces.accounts.tokens import MAX_TOKENS, NewToken, TooManyTokens


async def show_assistants(request: Request) -> Response:
    """Show the address and the tokens."""
    visitor = await require_visitor(request)
    async with services(request).database.connection() as connection:
        inside = await enter(connection, request, visitor)
        return await _page(connection, request, inside)


async def post_create(request: Request) -> Response:
    """Make a personal token, which is shown this once."""
    visitor = await require_visitor(request)
    form = await read_form_once(request, visitor.form_key, "create token")
    async with services(request).database.transaction() as connection:
        inside = await enter(connection, request, visitor, Permission.MAKE_TOKENS)
        new = NewToken(visitor.user.id, "personal", form.text("name"))
        try:
            token, _ = await tokens.issue_token(connection, inside.space.id, new)
        except Invalid as error:
            values = {"name": new.name, "errors": error.errors}
            return await _page(connection, request, inside, status=422, **values)
        except TooManyTokens as error:
            values = {"name": new.name, "problem": error.message}
            return await _page(connection, request, inside, status=409, **values)
        await spend(connection, form)
        made = {"token": token, "name": new.name.strip()}
        return await _page(connection, request, inside, made=made)


async def post_revoke(request: Request) -> Response:
    """End a token at once: one's own, or anybody's for who manages them."""
    visitor = await require_visitor(request)
    form = await read_form(request, visitor.form_key, "revoke token")
    async with services(request).database.transaction() as connection:
        inside = await enter(connection, request, visitor)
        token = await tokens.fetch_token(connection, inside.space.id, form.number("token"))
        own = token.owner.user_id == visitor.user.id
        inside.require(Permission.MAKE_TOKENS if own else Permission.MANAGE_TOKENS)
        await tokens.revoke_token(connection, inside.space.id, token.id)
    location = f"{HOME}/spaces/{read_space_id(request)}/mcp"
    return redirect(request, location, FlashMessage.TOKEN_REVOKED)


async def _page(
    connection: AsyncConnection, request: Request, inside: SpaceVisitor, *, status: int = 200, **values: Any
) -> Response:
    listed = await tokens.list_tokens(connection, inside.space.id)
    base_url = services(request).base_url
    user_id, manages = inside.visitor.user.id, inside.may(Permission.MANAGE_TOKENS)
    common: dict[str, Any] = {
        "tokens": listed,
        "revocable": {token.id for token in listed if manages or token.owner.user_id == user_id},
        "most": MAX_TOKENS,
        "url": f"{base_url}/mcp/{inside.space.id}/public-api",
        "name": "",
        "made": None,
        "problem": None,
        "once": hidden_token(once_token(inside.visitor.form_key, "create token")),
    }
    return render(request, "assistants.html", status=status, **(common | values))


_PATH = f"{HOME}/spaces/{{space_id}}/mcp"
ROUTES = [
    Route(_PATH, show_assistants, methods=["GET"]),
    Route(f"{_PATH}/create", post_create, methods=["POST"]),
    Route(f"{_PATH}/revoke", post_revoke, methods=["POST"]),
]
