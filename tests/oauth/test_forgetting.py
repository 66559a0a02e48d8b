"""What the worker deletes for the authorization server, and what it must keep."""

from __future__ import annotations

import psycopg

from headwater.assistants.oauth.cleanup import INSTALLATION, forget, make_cleanup_duty
from tests.oauth.staging import Assistant, Installation, Person


def test_it_works(installation: Installation, person: Person, assistant: Assistant, space_id: int) -> None:
    connection = installation.connection
    for _ in range(2):
        installation.code(person, assistant)
    connection.execute(
        "UPDATE oauth_codes SET expires_at = now() - interval '25 hours' WHERE id = ("
        " SELECT min(id) FROM oauth_codes WHERE space_id = %s)", (space_id,)
    )  # fmt: skip
    forget(connection)
    row = connection.execute("SELECT count(*) FROM oauth_codes WHERE space_id = %s", (space_id,))
    assert row.fetchone() == (1,)


def test_unused_clients_are_forgotten(installation: Installation) -> None:
    connection = installation.connection

    def is_kept(created: str, last_used: str | None) -> bool:
        client = installation.assistant()
        connection.execute(
            "UPDATE oauth_clients SET created_at = now() - %s::interval,"
            " last_used_at = now() - %s::interval WHERE id = %s", (created, last_used, client.id)
        )  # fmt: skip
        forget(connection)
        cursor = connection.execute("SELECT FROM oauth_clients WHERE id = %s", (client.id,))
        return cursor.fetchone() is not None

    assert is_kept("29 days", None)
    assert not is_kept("31 days", None)
    assert is_kept("1000 days", "366 days")  # its token may have just expired, so the client may return
    assert not is_kept("1000 days", "401 days")


def test_only_being_let_in_is_being_used(
    installation: Installation, person: Person, assistant: Assistant
) -> None:
    """A stranger's token request with a made-up code doesn't count as use."""
    query = "SELECT last_used_at IS NOT NULL FROM oauth_clients WHERE id = %s"
    row = installation.connection.execute(query, (assistant.id,)).fetchone()
    assert row == (False,)
    person.open_authorization(assistant.request())
    assert installation.exchange(assistant, "made-up").status_code == 400
    row = installation.connection.execute(query, (assistant.id,)).fetchone()
    assert row == (False,)
    installation.token(person, assistant)
    row = installation.connection.execute(query, (assistant.id,)).fetchone()
    assert row == (True,)


def test_the_task_runs_again_after_its_pause(connection: psycopg.Connection) -> None:
    """When there is no work, the task runs again after its pause."""
    duty = make_cleanup_duty(3600)
    assert duty.waiting(connection) == [INSTALLATION]
    assert duty.attend(connection, INSTALLATION) is False
    assert duty.pause_seconds == 3600
