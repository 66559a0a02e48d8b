"""POST /events/track."""

from __future__ import annotations

from typing import Any

import httpx
import msgspec
import psycopg
import pytest

from headwater.events.accepted import EVENT_NAMES, AcceptedEvent

MINIMAL = {"event_name": "purchase", "email": "ada@example.com"}


def stored_payload(connection: psycopg.Connection, response: httpx.Response) -> AcceptedEvent:
    """Return the payload as stored in the inbox."""
    row = connection.execute(
        "SELECT payload FROM inbox WHERE id = %s", (response.headers["x-receipt-id"],)
    ).fetchone()
    assert row is not None
    return msgspec.json.decode(row[0], type=AcceptedEvent)


def accept_event(client: httpx.Client, connection: psycopg.Connection, **fields: Any) -> AcceptedEvent:
    response = client.post("/events/track", json={**MINIMAL, **fields})
    assert response.status_code == 202, response.text
    return stored_payload(connection, response)


def refusal(client: httpx.Client, **fields: Any) -> dict[str, list[str]]:
    response = client.post("/events/track", json={**MINIMAL, **fields})
    assert response.status_code == 422, response.text
    assert response.json()["message"]
    return response.json()["errors"]


def test_it_works(client: httpx.Client, connection: psycopg.Connection) -> None:
    response = client.post("/events/track", json={**MINIMAL, "amount": 12.5})

    assert response.status_code == 202
    assert response.json() == {"status": 202, "message": "The event is queued."}
    assert response.headers["content-type"] == "application/json"
    event = stored_payload(connection, response)
    assert (event.event_name, event.email, event.amount) == ("purchase", "ada@example.com", "12.5")


def test_every_event_name_is_taken(client: httpx.Client, connection: psycopg.Connection) -> None:
    assert len(EVENT_NAMES) == 15 + 50
    for name in (EVENT_NAMES[0], "upsell_purchase", "custom_event_1", "custom_event_50"):
        assert accept_event(client, connection, event_name=name).event_name == name


@pytest.mark.parametrize("name", ["", "Purchase", "custom_event_0", "custom_event_51", None, 3, []])
def test_other_names_are_refused(client: httpx.Client, name: Any) -> None:
    assert list(refusal(client, event_name=name)) == ["event_name"]


def test_a_missing_name_is_named(client: httpx.Client) -> None:
    response = client.post("/events/track", json={"email": "a@example.com"})
    assert response.json()["errors"] == {"event_name": ["The event_name is required."]}


@pytest.mark.parametrize(
    "identification",
    [
        {"email": "a@example.com"},
        {"trk_token": "t"},
        {"fingerprint": "f", "ip": "10.1.2.3"},
        {"fingerprint": "f", "ip": "2001:db8::1", "email": ""},
    ],
)
def test_each_identification_is_enough(client: httpx.Client, identification: Any) -> None:
    response = client.post("/events/track", json={"event_name": "purchase", **identification})
    assert response.status_code == 202


@pytest.mark.parametrize(
    ("identification", "field"),
    [
        ({}, "email"),
        ({"email": "  ", "trk_token": ""}, "email"),
        ({"tracking_id": "42"}, "email"),
        ({"fingerprint": "f"}, "ip"),
        ({"ip": "10.0.0.1"}, "fingerprint"),
        ({"email": "a@example.com", "fingerprint": "f"}, "ip"),
        ({"trk_token": "t", "ip": "10.0.0.1"}, "fingerprint"),
        ({"email": "a@example.com", "fingerprint": "f", "ip": "nowhere"}, "ip"),
    ],
)
def test_no_other_is(client: httpx.Client, identification: Any, field: str) -> None:
    response = client.post("/events/track", json={"event_name": "purchase", **identification})
    assert response.status_code == 422
    assert list(response.json()["errors"]) == [field]


@pytest.mark.parametrize(
    "address", ["ada@example.com", " Ada@Example.COM ", "a+b.c@sub.example.co.uk", "jörg@müller.de", "x@y.zz"]
)
def test_addresses_are_trimmed_and_lowered(
    client: httpx.Client, connection: psycopg.Connection, address: str
) -> None:
    assert accept_event(client, connection, email=address).email == address.strip().lower()


@pytest.mark.parametrize(
    "address",
    ["ada", "ada@", "@example.com", "a b@example.com", "a@b", "a@-x.com", "a" * 65 + "@example.com"],
)
def test_malformed_addresses_are_refused(client: httpx.Client, address: str) -> None:
    assert list(refusal(client, email=address)) == ["email"]


@pytest.mark.parametrize(
    ("value", "stored_value"),
    [
        (0, "0"), (-0.0, "0"), (12, "12"), (19.99, "19.99"), (-5.5, "-5.5"), (1e14, "1" + 14 * "0"),
        (0.00005, "0"), (0.00015, "0.0002"), (1.00025, "1.0002"), (None, None),
    ],
)  # fmt: skip
def test_amounts_keep_four_decimals(
    client: httpx.Client, connection: psycopg.Connection, value: Any, stored_value: str | None
) -> None:
    assert accept_event(client, connection, amount=value).amount == stored_value


def test_amounts_never_pass_through_a_float(client: httpx.Client, connection: psycopg.Connection) -> None:
    body = '{"event_name":"purchase","email":"a@example.com","amount":99999999999999.1234}'
    response = client.post("/events/track", content=body)
    assert stored_payload(connection, response).amount == "99999999999999.1234"


@pytest.mark.parametrize("amount", ["12", "", True, [], {}, 1e15, -1e15])
def test_other_amounts_are_refused(client: httpx.Client, amount: Any) -> None:
    assert list(refusal(client, amount=amount)) == ["amount"]


@pytest.mark.parametrize("amount", ["NaN", "Infinity", "1e400", "9" * 400, "1e999999999999", "01"])
def test_raw_amounts_are_refused(client: httpx.Client, amount: str) -> None:
    body = f'{{"event_name":"purchase","email":"a@example.com","amount":{amount}}}'
    assert client.post("/events/track", content=body).status_code == 422


@pytest.mark.parametrize(
    ("value", "milliseconds"),
    [
        ("2026-05-13T13:58:22Z", 1778680702000),
        ("2026-05-13T13:58:22.123Z", 1778680702123),
        ("2026-05-13T15:58:22+02:00", 1778680702000),
        ("2026-05-13 13:58:22", 1778680702000),
        ("2026-05-13", 1778630400000),
        (1778680702, 1778680702000),
        ("1778680702", 1778680702000),
        (1778680702.5, 1778680702500),
    ],
)
def test_times(client: httpx.Client, connection: psycopg.Connection, value: Any, milliseconds: int) -> None:
    assert accept_event(client, connection, event_time=value).event_time == milliseconds


@pytest.mark.parametrize(
    "time",
    [
        "yesterday", "1999-12-31T23:59:59Z", "2026-13-01", "2026-02-30", "2026-W01-1",
        "2026-05-13T25:00:00Z", "2026-05-13T13:58:60Z", "2026-05-13T13:58:22+99:99",
        "9999-12-31T23:59:59Z", "٢٠٢٦-05-13", 1778680702000, 1e18, -1, True, [],
    ],
)  # fmt: skip
def test_other_times_are_refused(client: httpx.Client, time: Any) -> None:
    assert list(refusal(client, event_time=time)) == ["event_time"]


@pytest.mark.parametrize(
    ("value", "stored_value"), [(" AbC ", "AbC"), (7, "7"), ("", None), ("  ", None), (None, None)]
)
def test_company_ids(
    client: httpx.Client, connection: psycopg.Connection, value: Any, stored_value: str | None
) -> None:
    event = accept_event(client, connection, company_external_id=value, company_name=value)
    assert (event.company_external_id, event.company_name) == (stored_value, stored_value)


@pytest.mark.parametrize("field", ["company_external_id", "company_name"])
@pytest.mark.parametrize("value", [1.5, True, [], {}, "x" * 256])
def test_other_company_values_are_refused(client: httpx.Client, field: str, value: Any) -> None:
    assert list(refusal(client, **{field: value})) == [field]


def test_a_company_id_is_measured_after_trimming(client: httpx.Client) -> None:
    assert list(refusal(client, company_external_id="x" * 191)) == ["company_external_id"]
    padded_event = {**MINIMAL, "company_external_id": "  " + "x" * 190 + "  "}
    assert client.post("/events/track", json=padded_event).status_code == 202


def test_profile_fields_by_slot_type(client: httpx.Client, connection: psycopg.Connection) -> None:
    event = accept_event(
        client, connection, profile_field_1="gold", profile_field_16="12.50",
        profile_field_17=3, profile_field_26="2026-05-13", profile_field_2=" ",
        profile_field_27="2026-05-13T10:00:00+02:00", profile_field_30=None,
    )  # fmt: skip
    assert event.profile_fields == {
        1: "gold", 16: "12.5", 17: "3", 26: "2026-05-13", 27: "2026-05-13T08:00:00.000Z",
    }  # fmt: skip


def test_numbers_in_slots_never_pass_through_a_float(
    client: httpx.Client, connection: psycopg.Connection
) -> None:
    body = (
        '{"event_name":"purchase","email":"ada@example.com","profile_field_16":123456789012345678.0123456789,'
        '"profile_field_17":"123456789012345678.0123456789","profile_field_18":null,"profile_field_19":" "}'
    )
    event = stored_payload(connection, client.post("/events/track", content=body))
    assert event.profile_fields == dict.fromkeys((16, 17), "123456789012345678.0123456789")


@pytest.mark.parametrize(
    ("slot", "value"),
    [
        (1, 5), (15, "x" * 10_241), (16, "many"), (25, True), (20, "NaN"), (20, "1e400"),
        (26, "soon"), (26, "2026-02-30"), (30, "2026-W01-1"), (28, True), (26, 1e18),
    ],
)  # fmt: skip
def test_wrong_slot_values_are_refused(client: httpx.Client, slot: int, value: Any) -> None:
    assert list(refusal(client, **{f"profile_field_{slot}": value})) == [f"profile_field_{slot}"]


@pytest.mark.parametrize(
    ("field", "longest"),
    [
        ("trk_token", 255), ("tracking_id", 255), ("order_id", 255), ("idempotency_key", 255),
        ("upsell_common_id", 255), ("checkout_token", 255), ("full_name", 255), ("phone", 64),
        ("url", 2048), ("user_agent", 2048), ("trk_source", 512), ("trk_keyword", 512),
    ],
)  # fmt: skip
def test_lengths(client: httpx.Client, field: str, longest: int) -> None:
    assert client.post("/events/track", json={**MINIMAL, field: "é" * longest}).status_code == 202
    assert list(refusal(client, **{field: "é" * (longest + 1)})) == [field]
    assert list(refusal(client, **{field: 5})) == [field]


def test_flags(client: httpx.Client, connection: psycopg.Connection) -> None:
    event = accept_event(client, connection, is_upsell=True, do_not_capi=True)
    assert (event.is_upsell, event.do_not_capi) == (True, True)
    assert list(refusal(client, is_upsell="yes", do_not_capi=1)) == ["is_upsell", "do_not_capi"]


def test_every_fault_is_named_at_once(client: httpx.Client) -> None:
    errors = refusal(client, amount="x", phone=5, event_time="never", company_name=[])
    assert set(errors) == {"amount", "phone", "event_time", "company_name"}
    assert set(refusal(client, ip=5, email="no address")) == {"ip", "email"}
    assert set(refusal(client, ip=5, email=None)) == {"ip"}


def test_the_last_value_of_a_repeated_key_counts(
    client: httpx.Client, connection: psycopg.Connection
) -> None:
    body = (
        '{"event_name":"nothing","event_name":"purchase","email":"ada@example.com",'
        '"consent":{"ad_user_data":5,"ad_user_data":true},"amount":12345678901234.5678,"unknown":1}'
    )
    response = client.post("/events/track", content=body)
    assert response.json()["warnings"] == ["unknown is not a field."]
    event = stored_payload(connection, response)
    assert (event.event_name, event.ad_user_data, event.amount) == ("purchase", True, "12345678901234.5678")


@pytest.mark.parametrize("text", ['"a\\u0000b"', '"\\ud800"', '"\\udc00x"'])
def test_text_no_database_can_hold_names_its_field(client: httpx.Client, text: str) -> None:
    body = f'{{"event_name":"purchase","email":"a@example.com","order_name":{text}}}'
    response = client.post("/events/track", content=body)
    assert response.status_code == 422
    assert list(response.json()["errors"]) == ["order_name"]


def test_invalid_utf8_names_its_field(client: httpx.Client) -> None:
    body = b'{"event_name":"purchase","email":"a@example.com","order_name":"\xff"}'
    response = client.post("/events/track", content=body)
    assert list(response.json()["errors"]) == ["order_name"]


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"5", b"null", b'"x"', b"\xff\xfe{\x00", b"{}x"])
def test_what_is_no_object_is_refused(client: httpx.Client, body: bytes) -> None:
    response = client.post("/events/track", content=body)
    assert response.status_code == 422
    assert list(response.json()["errors"]) == ["body"]


def test_unknown_keys_are_ignored(client: httpx.Client, connection: psycopg.Connection) -> None:
    accept_event(client, connection, space_id=1, id=5, created_at="x", nested={"a": [1, {"b": None}]})


def test_bodies_are_bounded(client: httpx.Client) -> None:
    response = client.post("/events/track", json={**MINIMAL, "ignored": "x" * 256 * 1024})
    assert (response.status_code, response.json()) == (
        413, {"message": "Content Too Large."},
    )  # fmt: skip


def test_compressed_bodies_are_refused(client: httpx.Client) -> None:
    response = client.post("/events/track", content=b"x", headers={"Content-Encoding": "gzip"})
    assert response.status_code == 415
