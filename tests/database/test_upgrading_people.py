"""Installations of 0.1.0 with data, brought to the schema of today: what contacts and companies had
is there in the new form.
"""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest
from psycopg.sql import SQL, Identifier

from headwater.database import migrator as migrating
from headwater.sources.addresses import name_in_ascii
from tests.support.factories import Stage, make_stage

OF_0_1_0 = "0010_accounts"


@pytest.fixture
def old(database_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    """A Space of a database with the schema of 0.1.0."""
    name = "of_0_1_0"
    url = psycopg.conninfo.make_conninfo(database_url, dbname=name)
    with psycopg.connect(database_url, autocommit=True) as server:
        server.execute(SQL("CREATE DATABASE {}").format(Identifier(name)))
        every = migrating.migrations()
        with monkeypatch.context() as patch:
            patch.setattr(migrating, "migrations", lambda: [m for m in every if m[0] <= OF_0_1_0])
            migrating.migrate(url)
        with psycopg.connect(url, autocommit=True) as connection:
            yield make_stage(connection)
        server.execute(SQL("DROP DATABASE {} WITH (FORCE)").format(Identifier(name)))


def upgrade(stage: Stage) -> None:
    info = stage.connection.info
    applied = migrating.migrate(f"{info.dsn} password={info.password}")
    assert OF_0_1_0 not in applied
    assert applied


def test_a_merged_contact_s_wiped_address_is_a_former_one(old: Stage) -> None:
    survivor = old.contact(email="ada@example.com")
    wiped = old.contact(merged_into=survivor, email="ada@old.example")
    kept = old.contact(merged_into=survivor, email="ada@example.com")
    old.identifier(survivor, "email", "ada@example.com", origin_id=kept)
    upgrade(old)
    rows = old.connection.execute(
        "SELECT kind, value, contact_id, origin_id FROM contact_identifiers ORDER BY kind"
    ).fetchall()
    assert rows == [
        ("email", "ada@example.com", survivor, kept),
        ("former_email", "ada@old.example", survivor, wiped),
    ]


@pytest.mark.parametrize(
    "domain",
    [
        "münchen-firma.de", "bücher.co.uk", "straße.de", "会社.jp", "例え.テスト", "пример.рф",
        "mañana.com", "a\u0308pfel.de", "\u03b1\u03b2\u03b3.gr", "😀.la", "ليهمابتكلموشعربي؟.com",
        "\uff41bc.com", "übü-ñ9.de",
    ],
)  # fmt: skip
def test_international_domains_get_the_form_that_addresses_have(old: Stage, domain: str) -> None:
    company = old.company(domain=domain)
    plain = old.company(domain="acme.com")
    upgrade(old)
    rows = dict(old.connection.execute("SELECT id, domain FROM companies").fetchall())
    assert rows == {company: name_in_ascii(domain), plain: "acme.com"}


@pytest.mark.parametrize("older", ["münchen.de", "xn--mnchen-3ya.de"])
def test_of_two_companies_of_one_domain_the_older_keeps_it(old: Stage, older: str) -> None:
    younger = "xn--mnchen-3ya.de" if older == "münchen.de" else "münchen.de"
    first, second = old.company(domain=older), old.company(domain=younger, name="B")
    upgrade(old)
    rows = old.connection.execute("SELECT id, domain, name FROM companies ORDER BY id").fetchall()
    assert rows == [(first, "xn--mnchen-3ya.de", "Acme"), (second, None, "B")]
