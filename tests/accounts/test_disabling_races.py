"""What a user began before they were disabled, and is stored afterwards."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import psycopg

from headwater.spaces.accounts import invitations, sessions, users
from tests.support.accounts import Accounts
from tests.support.lock_waits import is_waited_for
from tests.support.waiting import wait_until


def test_it_works(connection: psycopg.Connection, database_url: str, space_id: int) -> None:
    """A form of the console holds its session until its invitation is stored, which then ends too."""
    accounts = Accounts(database_url)
    user = accounts.member(space_id)
    accounts.run(lambda c: sessions.open_session(c, user.id))
    with ThreadPoolExecutor(1) as pool, psycopg.connect(database_url) as form:
        form.execute("UPDATE sessions SET last_seen_at = now() WHERE user_id = %s", (user.id,))
        form.execute(
            "INSERT INTO invitations (space_id, email, role, token_hash, invited_by, expires_at)"
            " VALUES (%s, 'a@example.com', 'owner', sha256('late'), %s, now() + interval '1 day')",
            (space_id, user.id),
        )
        end_counts = pool.submit(accounts.run, lambda c: users.disable_user(c, user))
        wait_until(lambda: is_waited_for(connection, form))
        form.commit()
        assert end_counts.result().sessions == 1
    assert accounts.run(lambda c: invitations.list_invitations(c, space_id)) == []
