"""A Space's own paid networks. After a change, stored touchpoints are reclassified."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any

from msgspec import Meta, Struct
from psycopg import AsyncConnection, Connection

from headwater.database.queries import Queries, fetch_all
from headwater.http.answers import DataList
from headwater.http.errors import Errors, Invalid, require_any
from headwater.http.inputs.fields import REQUIRED, UNPRINTABLE, FieldType, text_up_to
from headwater.http.inputs.objects import Property, array_of, object_of, parse_body
from headwater.sources.ad_platforms import LISTED_PLATFORMS, normalize_platform
from headwater.sources.catalogue import PAID_OTHER, SOURCE_IDS
from headwater.sources.networks import (
    FIRST_NUMBER,
    MAX_NAME_LENGTH,
    NAME,
    NUMBERS,
    PaidNetwork,
    fold_spelling,
    list_spellings,
)
from headwater.sources.source_names import SourceNames, normal_name, read_source_names
from headwater.sources.vocabulary import find_target
from headwater.spaces.locks import lock_space
from headwater.spaces.reclassifications import RECLASSIFIED, request_reclassification
from headwater.spaces.spaces import announce_access

queries = Queries(__name__, "networks.sql")

MAX_NETWORKS = 100
MAX_SPELLINGS = 20


class Network(Struct, frozen=True):
    """A paid network that the Space has added."""

    name: Annotated[str, Meta(description="Its source in reports.")]
    spellings: Annotated[
        tuple[str, ...],
        Meta(description="Values of `utm_source` and `trk_source` that mean it, besides its name."),
    ]
    platform: Annotated[str, Meta(description="Its name in spend.")]


class NetworkList(DataList[Network], frozen=True):
    """All paid networks of the Space."""


def _read_name(text: str) -> str:
    if NAME.fullmatch(text):
        return text
    stem = normalize_platform(text)
    example = f"{stem}_ads" if NAME.fullmatch(f"{stem}_ads") else "taboola_ads"
    raise ValueError(
        f"must have lower-case letters, digits and single _, end in _ads and have at most "
        f"{MAX_NAME_LENGTH} characters, such as {example}."
    )


def _read_spelling(text: str) -> str:
    if UNPRINTABLE.search(text) or not fold_spelling(text):
        raise ValueError("must have a letter or a digit, and no control characters.")
    return normal_name(text)


def _read_platform(text: str) -> str:
    platform = normalize_platform(text)
    if not platform or UNPRINTABLE.search(platform):
        raise ValueError("must have a letter or a digit, and no control characters.")
    return platform


_TEXT = FieldType(
    {"type": "string", "minLength": 1, "maxLength": MAX_NAME_LENGTH},
    text_up_to(MAX_NAME_LENGTH, trim=True).read,
)
_NAME = FieldType(
    {"type": "string", "maxLength": MAX_NAME_LENGTH, "pattern": "^[a-z0-9]+(_[a-z0-9]+)*_ads$"},
    text_up_to(255).then(_read_name).read,
)
_FIELDS = object_of(
    {
        "name": Property(_NAME, "Its source in reports; ends in `_ads`.", missing=REQUIRED),
        "spellings": Property(
            array_of(_TEXT.then(_read_spelling), MAX_SPELLINGS),
            "Values of `utm_source` and `trk_source` that mean it, besides its name.",
        ),
        "platform": Property(
            _TEXT.then(_read_platform).or_none(), "Its name in spend; if left out, the name's stem."
        ),
    }
)
NETWORK: FieldType[Network] = _FIELDS.then(
    lambda values: Network(
        values["name"],
        tuple(dict.fromkeys(values.get("spellings") or ())),
        values.get("platform") or normalize_platform(values["name"]),
    )
)


def read_network(values: Mapping[str, Any]) -> Network:
    """Read a network. Raises Invalid naming every invalid field."""
    return parse_body(NETWORK, dict(values))


async def fetch_sources(connection: AsyncConnection, space_id: int) -> SourceNames:
    rows = await fetch_all(connection, queries["fetch"], {"space_id": space_id})
    return read_source_names({}, rows)


def load_sources(connection: Connection[Any], space_id: int) -> SourceNames:
    """Include networks removed since a job was requested."""
    rows = connection.execute(queries["fetch"], {"space_id": space_id}).fetchall()
    return read_source_names({}, [(*row[:-1], False) for row in rows])


async def put_network(connection: AsyncConnection, space_id: int, network: Network) -> None:
    """Raises NotFound, and Invalid for spellings in use."""
    names = await _lock(connection, space_id)
    other_names = dict(await fetch_all(connection, queries["names"], {"space_id": space_id}))
    _check(names, other_names, network)
    values = {
        "space_id": space_id,
        "name": network.name,
        "spellings": list(network.spellings),
        "platform": network.platform,
    }
    number = names.numbers.get(network.name)
    if number is None:
        number = 1 + max(FIRST_NUMBER - 1, *names.numbers.values())
    await connection.execute(queries["put"], values | {"number": number})
    await announce_access(connection, space_id)
    await request_reclassification(connection, space_id, RECLASSIFIED + network.name)


async def remove_network(connection: AsyncConnection, space_id: int, name: str) -> None:
    """Give its touchpoints the source they would have without it. Raises NotFound."""
    await _lock(connection, space_id)
    values = {"space_id": space_id, "name": name}
    require_any((await connection.execute(queries["remove"], values)).rowcount, "Network")
    await announce_access(connection, space_id)
    await request_reclassification(connection, space_id, RECLASSIFIED + name)


def describe_network(network: PaidNetwork) -> Network:
    return Network(network.name, network.spellings, network.platform)


async def _lock(connection: AsyncConnection, space_id: int) -> SourceNames:
    require_any(await lock_space(connection, space_id), "Space")
    return await fetch_sources(connection, space_id)


def _check(names: SourceNames, other_names: Mapping[str, str], new_network: Network) -> None:
    other_networks = [network for network in names.networks if network.name != new_network.name]
    errors: Errors = {}
    if (listed_source := _listed_as(new_network.name)) is not None:
        errors["name"] = [f"The name {new_network.name} belongs to the listed source {listed_source}."]
    elif len(other_networks) >= MAX_NETWORKS:
        errors["name"] = [f"The name cannot be added: a Space has at most {MAX_NETWORKS} networks."]
    elif new_network.name not in names.numbers and NUMBERS[-1] in names.numbers.values():
        reason = f"this Space has had {len(NUMBERS)} networks, removed ones included."
        errors["name"] = [f"The name cannot be added: {reason} Add a spelling to another network."]
    if (rule := _taken_spelling(new_network, other_networks, other_names)) is not None:
        errors.setdefault("spellings" if new_network.spellings else "name", []).append(rule)
    owner = LISTED_PLATFORMS.get(new_network.platform) or next(
        (network.name for network in other_networks if network.platform == new_network.platform), None
    )
    if owner is not None and "name" not in errors:
        errors["platform"] = [f"The platform {new_network.platform} belongs to {owner}."]
    if errors:
        raise Invalid(errors)


def _taken_spelling(
    new_network: Network, other_networks: Iterable[PaidNetwork], other_names: Mapping[str, str]
) -> str | None:
    mine = list_spellings(new_network.name, new_network.spellings)
    for network in other_networks:
        shared_spellings = set(mine) & set(list_spellings(network.name, network.spellings))
        if shared_spellings:
            return f"The spelling {min(shared_spellings)} belongs to your network {network.name}."
    for spelling in (*new_network.spellings, new_network.name.removesuffix("_ads")):
        if (listed_source := _listed_as(spelling)) is not None:
            return f"The spelling {spelling} belongs to the listed source {listed_source}."
    for name, source in other_names.items():
        if fold_spelling(name) in mine:
            return f"The spelling {name} is a value of utm_source that you have mapped to {source}."
    return None


def _listed_as(value: str) -> str | None:
    """Return the listed source or platform of a value, except PAID_OTHER, whose networks Spaces may add."""
    if value in SOURCE_IDS:
        return value
    target = find_target(value)
    return None if target == PAID_OTHER else target
