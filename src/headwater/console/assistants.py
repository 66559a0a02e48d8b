"""MCP settings: the assistants' address and tokens."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from headwater.console.flash import FlashMessage
from headwater.console.visits import (
    PageVisit,
    Refusal,
    SentForm,
    SpacePages,
    list_form_errors,
    read_form_problem,
)
from headwater.spaces.accounts import tokens
from headwater.spaces.accounts.members import lock_members
from headwater.spaces.accounts.roles import Permission
from headwater.spaces.accounts.tokens import MAX_TOKENS, NewToken

ROUTES = SpacePages("/mcp")
_CREATE = SentForm(
    "create token",
    Permission.MAKE_TOKENS,
    once=True,
    lock=lock_members,
    is_dangerous=True,
    changes=("assistant_token",),
)
_REVOKE = SentForm("revoke token", Permission.READ, lock=lock_members, changes=("assistant_token",))


@ROUTES.page()
async def show_assistants(visit: PageVisit, status: int = 200, **values: Any) -> Response:
    rows = await tokens.list_tokens(visit.connection, visit.space.id)
    manages = visit.inside.may(Permission.MANAGE_TOKENS)
    common: dict[str, Any] = {
        "tokens": rows,
        "revocable": {token.id for token in rows if manages or token.owner.user_id == visit.user_id},
        "most": MAX_TOKENS,
        "url": f"{visit.services.base_url}/mcp/{visit.space.id}/public-api",
        "name": "",
        "made": None,
        "problem": None,
        "once": visit.once(_CREATE.name),
    }
    return visit.render("assistants.html", common | values, status)


async def _refuse(visit: PageVisit, refusal: Refusal) -> Response:
    return await show_assistants(
        visit,
        refusal.status,
        name=visit.form.text("name"),
        errors=list_form_errors(refusal),
        problem=read_form_problem(refusal),
    )


@ROUTES.action("/create", _CREATE, _refuse, _refuse)
async def post_create(visit: PageVisit) -> Response:
    """Show the new token once."""
    new = NewToken(visit.user_id, "personal", visit.form.text("name"))
    token, _ = await tokens.issue_token(visit.connection, visit.space.id, new)
    return await show_assistants(visit, made={"token": token, "name": new.name.strip()})


@ROUTES.action("/revoke", _REVOKE)
async def post_revoke(visit: PageVisit) -> FlashMessage:
    """Revoke a token. Members without the token permission may revoke only their own."""
    token = await tokens.fetch_token(visit.connection, visit.space.id, visit.form.number("token"))
    is_own = token.owner.user_id == visit.user_id
    visit.inside.require(Permission.MAKE_TOKENS if is_own else Permission.MANAGE_TOKENS)
    await tokens.revoke_token(visit.connection, visit.space.id, token.id)
    return FlashMessage.TOKEN_REVOKED
