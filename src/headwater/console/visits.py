"""Check the role, run the handler in one transaction, and show form errors."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import msgspec
from markupsafe import Markup
from msgspec import Struct
from psycopg import AsyncConnection
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from headwater.console import forms
from headwater.console.audited import make_action
from headwater.console.flash import FlashMessage
from headwater.console.forms import PostedForm
from headwater.console.pages import hidden_token, redirect, render
from headwater.console.visitor import (
    HOME,
    SpaceVisitor,
    Visitor,
    enter,
    read_id,
    read_space_id,
    require_fresh_factor,
    require_session,
    require_visitor,
)
from headwater.endpoints.services import Services, services
from headwater.http.errors import Conflict, Errors, Invalid
from headwater.http.inputs.parameters import Query
from headwater.spaces.accounts.roles import Permission
from headwater.spaces.audit.entries import AuditChange
from headwater.spaces.audit.kinds import Kind
from headwater.spaces.audit.subjects import recording
from headwater.spaces.models import Space

Refusal = Invalid | Conflict
EMPTY = PostedForm(())


class PageVisit(Struct, frozen=True):
    request: Request
    connection: AsyncConnection
    """Its transaction commits after the handler returns."""
    inside: SpaceVisitor
    form: PostedForm = EMPTY
    changes: list[AuditChange] = msgspec.field(default_factory=list[AuditChange])
    """Noted changes of stored records."""

    @property
    def space(self) -> Space:
        return self.inside.space

    @property
    def user_id(self) -> int:
        return self.inside.visitor.user.id

    @property
    def services(self) -> Services:
        return services(self.request)

    @property
    def query(self) -> Query:
        """The address's parameters, not yet parsed."""
        return Query(self.request.scope["query_string"])

    def id(self, name: str) -> int:
        """Raise NotFound if missing."""
        return read_id(self.request, name)

    def path(self, end: str = "") -> str:
        return f"{HOME}/spaces/{self.space.id}{end}"

    def typed(self, *names: str) -> dict[str, str]:
        return {name: self.form.text(name) for name in names}

    def once(self, form: str) -> Markup:
        """Return a hidden single-use token."""
        return hidden_token(forms.once_token(self.inside.visitor.form_key, form))

    def require_fresh_factor(self) -> None:
        """Raise SeeOther to the second factor, for forms that are dangerous with some values only."""
        require_fresh_factor(self.request, self.inside.visitor)

    def note(self, change: AuditChange) -> None:
        """Let the audit log record a change of a stored record."""
        self.changes.append(change)

    def render(self, template: str, values: Mapping[str, Any], status: int = 200) -> Response:
        return render(self.request, template, status=status, **values)

    def redirect(self, end: str, flash: FlashMessage | None = None) -> Response:
        return redirect(self.request, self.path(end), flash)


Show = Callable[[PageVisit], Awaitable[Response]]
AnyShow = TypeVar("AnyShow", bound=Show)
"""A page's function, whose other parameters say what a form has changed or refused."""
Act = Callable[[PageVisit], Awaitable[Response | FlashMessage]]
Refuse = Callable[[PageVisit, Refusal], Awaitable[Response]]
Lock = Callable[[AsyncConnection, int], Awaitable[object]]
Change = Callable[[AsyncConnection, int, int], Awaitable[object]]
"""Changes a record of a Space, by both ids."""
Handler = Callable[[Request], Awaitable[Response]]


class SentForm(Struct, frozen=True):
    name: str
    permission: Permission
    once: bool = False
    """Whether the form is single-use: its token is used up when the action succeeds."""
    lock: Lock | None = None
    """Lock taken on the Space before reading the visitor's role."""
    is_dangerous: bool = False
    """Whether users need a fresh second factor or, without one, to have entered their password recently."""
    changes: Sequence[Kind] = ()
    """What the audit log compares before and after. Actions note changes of other records themselves."""


class SpacePages:
    """Pages and actions below one path of a Space."""

    def __init__(self, path: str, return_path: str | None = None) -> None:
        """Both are below the Space's path. An action that returns a message redirects to `return_path`, by
        default `path`.
        """
        self._path, self._return_path = path, path if return_path is None else return_path
        self._routes: list[Route] = []

    def __iter__(self) -> Iterator[Route]:
        return iter(self._routes)

    def add(self, end: str, handler: Handler, method: str = "GET") -> None:
        """Add a route whose handler enters the Space itself."""
        path = f"{HOME}/spaces/{{space_id}}{self._path}{end}"
        self._routes.append(Route(path, handler, methods=[method]))

    def page(self, end: str = "", permission: Permission = Permission.READ) -> Callable[[AnyShow], AnyShow]:
        """Register a page at `end` below the path."""

        def register(show: AnyShow) -> AnyShow:
            async def get(request: Request) -> Response:
                async with _open_visit(request, permission) as visit:
                    return await show(visit)

            self.add(end, get)
            return show

        return register

    def action(
        self, end: str, form: SentForm, refuse: Refuse | None = None, conflict: Refuse | None = None
    ) -> Callable[[Act], Act]:
        """Register an action on a posted form.

        An Invalid or Conflict rolls the handler's work back. `refuse` or `conflict` then answers in its own
        transaction; otherwise an error page does.
        """
        answers = {Invalid: refuse, Conflict: conflict}

        def register(act: Act) -> Act:
            self.add(end, self._handler(act, form, answers), "POST")
            return act

        return register

    def change(self, end: str, form: SentForm, name: str, change: Change, message: FlashMessage) -> None:
        """Register an action that changes the record whose id is `name` in the path."""

        async def act(visit: PageVisit) -> FlashMessage:
            await change(visit.connection, visit.space.id, visit.id(name))
            return message

        self.action(end, form)(act)

    def _handler(
        self, act: Act, sent_form: SentForm, answers: Mapping[type[Refusal], Refuse | None]
    ) -> Handler:
        async def post(request: Request) -> Response:
            form = await read_sent_form(request, sent_form)
            try:
                async with open_visit(request, sent_form, form) as visit:
                    answer = await act(visit)
                    if sent_form.once:
                        await forms.spend(visit.connection, form)
            except (Invalid, Conflict) as refusal:
                refuse = answers[Invalid if isinstance(refusal, Invalid) else Conflict]
                if refuse is None:
                    raise
                async with open_visit(request, sent_form, form) as visit:
                    return await refuse(visit, refusal)
            if isinstance(answer, Response):
                return answer
            return visit.redirect(self._return_path.format(**request.path_params), answer)

        return post


@asynccontextmanager
async def _open_visit(request: Request, permission: Permission) -> AsyncGenerator[PageVisit]:
    visitor = await require_visitor(request)
    async with services(request).database.transaction() as connection:
        inside = await enter(connection, request, visitor, permission)
        yield PageVisit(request, connection, inside)


@asynccontextmanager
async def open_visit(request: Request, sent_form: SentForm, form: PostedForm) -> AsyncGenerator[PageVisit]:
    """Open the transaction of a form, whose changes go to the audit log. Raise the errors of `enter`."""
    visitor = await require_visitor(request)
    async with services(request).database.transaction() as connection:
        if sent_form.is_dangerous:
            await require_session(connection, request, visitor)
        if sent_form.lock is not None:
            await sent_form.lock(connection, read_space_id(request))
        inside = await enter(connection, request, visitor, sent_form.permission)
        action = make_action(request, visitor.user.id, inside.space.id)
        async with recording(connection, action, sent_form.changes) as changes:
            yield PageVisit(request, connection, inside, form, changes)


async def read_sent_form(request: Request, form: SentForm) -> PostedForm:
    """Raise Forbidden for a foreign or outdated form, SeeOther to the second factor for a dangerous one."""
    visitor = await require_visitor(request)
    read_form = forms.read_form_once if form.once else forms.read_form
    posted_form = await read_form(request, visitor.form_key, form.name)
    if form.is_dangerous:
        require_fresh_factor(request, visitor)
    return posted_form


async def read_account_form(request: Request, name: str) -> tuple[Visitor, PostedForm]:
    """Return a form about the visitor's own account. Raise Forbidden for a foreign or outdated one."""
    visitor = await require_visitor(request)
    return visitor, await forms.read_form(request, visitor.form_key, name)


async def enter_space(request: Request, permission: Permission = Permission.READ) -> SpaceVisitor:
    """Return the visitor, for handlers that open transactions themselves. Raises the errors of `enter`."""
    async with _open_visit(request, permission) as visit:
        return visit.inside


def list_form_errors(refusal: Refusal) -> Errors:
    return refusal.errors if isinstance(refusal, Invalid) else {}


def read_form_problem(refusal: Refusal) -> str | None:
    """Return the error that belongs to no field."""
    return refusal.message if isinstance(refusal, Conflict) else None
