"""Row-level security: a statement that forgets its `space_id` finds no rows of another Space."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import psycopg
import pytest
from psycopg.sql import SQL, Identifier

from headwater.database.jobs.due_tasks import AccountKey, DueTasks
from headwater.database.jobs.duties import INSTALLATION, Duty
from headwater.database.jobs.worker import Worker
from headwater.database.pool import Database, confine
from headwater.database.row_security import confined, fetch_role, serve_space, served_space, serving
from headwater.people.companies import queries as companies
from tests.conftest import Running, client_for
from tests.mcp.assistants import connect
from tests.support.forgetting import forget_space, take_away_second_wall

FORGETFUL = SQL("SELECT external_id FROM companies ORDER BY id")
Spaces = tuple[int, int]


@pytest.fixture
def spaces(connection: psycopg.Connection, make_space: Callable[..., int]) -> Spaces:
    """Two Spaces with a company each, identified by the Space's id."""
    first, second = make_space(), make_space()
    for space_id in (first, second):
        connection.execute(
            "INSERT INTO companies (space_id, name, external_id, created_at) VALUES (%s, 'Shop', %s, now())",
            (space_id, str(space_id)),
        )
    return first, second


def run(database_url: str, work: Callable[[Database], Awaitable[None]], size: int = 1) -> None:
    """Run `work` with a pool of one connection."""

    async def main() -> None:
        async with Database(database_url, size) as database:
            await work(database)

    asyncio.run(main())


async def names(connection: psycopg.AsyncConnection) -> list[str]:
    """Return the rows that a statement without a Space condition finds."""
    return [name for (name,) in await (await connection.execute(FORGETFUL)).fetchall()]


def test_it_works(database_url: str, spaces: Spaces) -> None:
    first, second = spaces

    async def work(database: Database) -> None:
        for space_id in (first, second, first):
            with serving(space_id):
                async with database.connection() as connection:
                    assert await names(connection) == [str(space_id)]
                async with database.transaction() as connection:
                    assert await names(connection) == [str(space_id)]
                async with database.transaction(heavy=True) as connection:
                    assert await names(connection) == [str(space_id)]
        async with database.connection() as connection:
            assert {str(first), str(second)} <= {*await names(connection)}

    run(database_url, work)


def test_nothing_is_changed_or_made_beyond_it(
    database_url: str, spaces: Spaces, connection: psycopg.Connection
) -> None:
    first, second = spaces

    async def work(database: Database) -> None:
        with serving(first):
            async with database.connection() as confined_connection:
                cursor = await confined_connection.execute("UPDATE companies SET name = 'changed'")
                assert cursor.rowcount == 1
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    await confined_connection.execute(
                        "INSERT INTO companies (space_id, name, external_id, created_at)"
                        " VALUES (%s, 'Shop', 'x', now())",
                        (second,),
                    )
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    await confined_connection.execute("UPDATE companies SET space_id = %s", (second,))
                for table in ("installation", "migrations"):
                    with pytest.raises(psycopg.errors.InsufficientPrivilege):
                        await confined_connection.execute(SQL("SELECT FROM {}").format(Identifier(table)))
                assert (await confined_connection.execute("DELETE FROM companies")).rowcount == 1

    run(database_url, work)
    rows = connection.execute(
        "SELECT external_id FROM companies WHERE space_id = ANY(%s)", ([first, second],)
    ).fetchall()
    assert rows == [(str(second),)]


def test_a_space_that_is_known_late(database_url: str, spaces: Spaces) -> None:
    """In the console, the connection exists before the page's Space is known."""
    first, second = spaces

    async def work(database: Database) -> None:
        async def open_page(space_id: int) -> None:
            async with database.transaction() as connection:
                assert len(await names(connection)) >= 2
                await confine(connection, space_id)
                assert await names(connection) == [str(space_id)]
            async with database.connection() as connection:
                assert await names(connection) == [str(space_id)]
                assert served_space() == space_id

        async def open_list(space_id: int) -> None:
            async with database.connection() as connection:
                await confine(connection, space_id)
                assert await names(connection) == [str(space_id)]

        for work in (open_page, open_list, open_page):
            for space_id in (first, second):
                await asyncio.create_task(work(space_id))
                async with database.connection() as connection:
                    assert len(await names(connection)) >= 2

    run(database_url, work)


def test_nothing_leaks_from_what_fails(database_url: str, spaces: Spaces) -> None:
    first, second = spaces

    async def fail(database: Database, space_id: int, error: type[BaseException]) -> None:
        with serving(space_id):
            async with database.transaction() as connection:
                await confine(connection, space_id)
                raise error

    async def work(database: Database) -> None:
        for error in (ValueError, asyncio.CancelledError, psycopg.errors.SyntaxError):
            with pytest.raises(error):
                await fail(database, first, error)
            with serving(second):
                async with database.connection() as connection:
                    assert await names(connection) == [str(second)]
        # A change of Space that failed is repeated.
        async with database.connection() as connection:
            connection.space_role = "no_such_role"  # type: ignore[attr-defined]
        with serving(first), pytest.raises(psycopg.errors.InvalidParameterValue):
            async with database.connection() as connection:
                pass
        with serving(second), pytest.raises(psycopg.errors.InvalidParameterValue):
            async with database.connection() as connection:
                pass

    run(database_url, work)


def test_many_at_a_time(database_url: str, spaces: Spaces) -> None:
    async def work(database: Database) -> None:
        async def read(space_id: int) -> None:
            serve_space(space_id)
            for _ in range(25):
                async with database.connection() as connection:
                    await asyncio.sleep(0)
                    assert await names(connection) == [str(space_id)]

        await asyncio.gather(*(read(spaces[number % 2]) for number in range(8)))

    run(database_url, work, size=3)


def test_every_table_has_its_policy(connection: psycopg.Connection) -> None:
    tables = connection.execute(
        "SELECT c.relname, c.relrowsecurity, p.polcmd::text, p.polroles, p.polpermissive,"
        " pg_get_expr(p.polqual, c.oid), p.polwithcheck IS NULL"
        " FROM pg_class c LEFT JOIN pg_policy p ON p.polrelid = c.oid"
        " JOIN pg_attribute a ON a.attrelid = c.oid AND NOT a.attisdropped"
        "   AND a.attname = CASE c.relname WHEN 'spaces' THEN 'id' ELSE 'space_id' END"
        " WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p')"
    ).fetchall()
    assert len(tables) > 40
    for table, is_on, command, roles, permissive, rule, same_check in tables:
        column = "id" if table == "spaces" else "space_id"
        assert (is_on, command, roles, permissive, same_check) == (True, "*", [0], True, True)
        assert rule == (
            f"({column} = (NULLIF(current_setting('headwater.space_id'::text, true), ''::text))::bigint)"
        )


def test_without_a_usable_role_a_block_begins_outside_transactions(database_url: str) -> None:
    """Where sessions can't be confined, an export's transaction settings are still made in time."""
    with psycopg.connect(database_url) as connection:
        fetch_role(connection)
        with confined(connection, 1, None):
            connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")


def test_its_role_is_below_the_policies(connection: psycopg.Connection) -> None:
    role = fetch_role(connection)
    assert role.usable_name == role.name == "headwater_space"
    rights = connection.execute(
        "SELECT rolsuper, rolbypassrls, rolcanlogin, rolcreaterole FROM pg_roles WHERE rolname = %s",
        (role.usable_name,),
    ).fetchone()
    assert rights == (False, False, False, False)
    owned_tables = "SELECT FROM pg_class c JOIN pg_roles r ON r.oid = c.relowner WHERE r.rolname = %s"
    assert connection.execute(owned_tables, (role.usable_name,)).fetchone() is None


def test_a_role_without_a_space_sees_nothing(connection: psycopg.Connection, spaces: Spaces) -> None:
    assert spaces
    with connection.transaction(force_rollback=True):
        connection.execute("SET LOCAL ROLE headwater_space")
        assert connection.execute(FORGETFUL).fetchall() == []
        assert connection.execute("SELECT FROM spaces").fetchall() == []


def test_a_faulty_statement_of_the_api(
    server: Running, spaces: Spaces, make_key: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def list_companies(space_id: int) -> set[str]:
        with client_for(server, make_key(space_id)) as client:
            return {company["external_id"] for company in client.get("/companies").json()["data"]}

    forget_space(monkeypatch, companies.queries, "page")
    for space_id in spaces:
        assert list_companies(space_id) == {str(space_id)}
    take_away_second_wall(monkeypatch)
    assert list_companies(spaces[0]) > {str(spaces[0])}  # the result without row-level security


def test_a_faulty_statement_of_an_assistant(
    server: Running, spaces: Spaces, connection: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    def list_companies(space_id: int) -> set[str]:
        with connect(server, connection, space_id) as assistant:
            rows = assistant.call("list_companies")["rows"]
            return {company.get("external_id", "") for company in rows}

    forget_space(monkeypatch, companies.queries, "page")
    for space_id in spaces:
        assert list_companies(space_id) == {str(space_id)}
    take_away_second_wall(monkeypatch)
    assert list_companies(spaces[0]) > {str(spaces[0])}


def test_a_faulty_duty_of_the_worker(database_url: str, spaces: Spaces) -> None:
    stop, visible_names = threading.Event(), dict[int, list[str]]()

    def attend(connection: psycopg.Connection[Any], space_id: int) -> bool:
        with connection.transaction():
            visible_names[space_id] = [name for (name,) in connection.execute(FORGETFUL)]
        if len(visible_names) == 4:
            stop.set()
        if space_id == spaces[0]:
            raise psycopg.errors.SyntaxError  # leaves its Space behind, too
        return True

    turn = iter([[spaces[0]], [INSTALLATION], [spaces[1]], [INSTALLATION, -1]])
    Worker(database_url, stop, [Duty(lambda _: next(turn, []), attend)]).run()
    assert [visible_names[space_id] for space_id in spaces] == [[str(space_id)] for space_id in spaces]
    assert {*map(str, spaces)} <= {*visible_names[INSTALLATION]}
    assert visible_names[-1] == []


def test_a_faulty_task_of_an_account(database_url: str, spaces: Spaces) -> None:
    visible_names = dict[int, list[str]]()

    class Tasks(DueTasks):
        name, most_tasks = "tests", 2

        async def find_due(self, connection: psycopg.AsyncConnection) -> list[AccountKey]:
            assert {*map(str, spaces)} <= {*await names(connection)}
            return [AccountKey(space_id, 1) for space_id in spaces if space_id not in visible_names]

        async def attend(self, key: AccountKey) -> None:
            async with self._database.connection() as connection:
                visible_names[key.space_id] = await names(connection)

    run(database_url, lambda database: Tasks(database, asyncio.Event()).drain(), size=2)
    assert visible_names == {space_id: [str(space_id)] for space_id in spaces}
