"""Field types: one parser for text and JSON, rules by path, and the schema of each type."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from headwater.http.errors import Invalid
from headwater.http.inputs.fields import (
    BOOLEAN,
    REQUIRED,
    FieldType,
    integer,
    number,
    one_of,
    text_up_to,
    whole_number,
    word_of,
)
from headwater.http.inputs.objects import Property, array_of, map_of, object_of, parse_body, read_pairs
from headwater.http.inputs.parameters import Input, JsonInput, ListParameter, Parameter, Query

WINDOW = one_of((0, 7, 30))
COLOURS = ListParameter(name="colours", kind=one_of(("red", "blue")), max_values=2, description="")
SIZE = Parameter(name="size", kind=whole_number(1, 9), description="", default=5)
PERSON = object_of(
    {
        "name": Property(text_up_to(5, shortest=1, trim=True), missing=REQUIRED),
        "nicks": Property(array_of(text_up_to(3), 2)),
        "score": Property(number("must be a number or null.").or_null()),
    }
)


def list_errors(kind: FieldType[Any], body: object) -> dict[str, list[str]]:
    with pytest.raises(Invalid) as error_info:
        parse_body(kind, body)
    return error_info.value.errors


@pytest.mark.parametrize(
    ("kind", "values", "expected"),
    [
        (whole_number(1, 50), (7, "7"), 7),
        (WINDOW, (30, "30"), 30),
        (BOOLEAN, (True, "true", 1, "1"), True),
        (number("must be a number."), (Decimal("1.5"), 1.5, "1.5", " 1.5 "), Decimal("1.5")),
        (text_up_to(9, trim=True, integers=True), (7, "7", " 7 "), "7"),
    ],
)
def test_a_value_is_the_same_as_text_and_as_json(
    kind: FieldType[Any], values: tuple[object, ...], expected: object
) -> None:
    assert [kind.read(value) for value in values] == [expected] * len(values)


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (
            whole_number(1, 50),
            (0, 51, "x", "\N{ARABIC-INDIC DIGIT SEVEN}", True, 1.5, Decimal("1.5"), None, [], {}),
        ),
        (WINDOW, (1, "red", [30], {}, None)),
        (BOOLEAN, ("yes", 2, Decimal(1), None)),
        (integer(3), (1000, -1000, "7", True, None)),
        (number("must be a number."), ("x", "", "NaN", True, None, [], Decimal("Infinity"))),
        (text_up_to(2), (7, None, "abc", ["a"])),
        (text_up_to(2, integers=True), (True, 777, Decimal(1))),
        (word_of(("red",)), ("Red", "", 1, None, [])),
    ],
)
def test_other_values_break_a_rule(kind: FieldType[Any], values: tuple[object, ...]) -> None:
    for value in values:
        with pytest.raises(ValueError, match=r"^must .*\.$"):
            kind.read(value)


def test_what_is_absent_differs_from_null() -> None:
    assert parse_body(PERSON, {"name": " Ann ", "x": 1}) == {"name": "Ann"}
    assert parse_body(PERSON, {"name": "Ann", "score": None}) == {"name": "Ann", "score": None}


def test_null_and_blank_text_count_as_nothing_where_that_is_said() -> None:
    kind = text_up_to(2).or_none()
    assert [kind.read(value) for value in (None, "", "    ", "ab")] == [None, None, None, "ab"]
    assert text_up_to(2).or_null().read(None) is None


def test_rules_stand_under_the_paths_of_fields() -> None:
    people = object_of({"people": Property(array_of(PERSON, 9))})
    body = {"people": [{"name": "Ann"}, {"nicks": ["abcd", "a", 7]}, {"name": "", "nicks": ["x", 1]}, 5]}
    assert list_errors(people, body) == {
        "people.1.name": ["The people.1.name is required."],
        "people.1.nicks": ["The people.1.nicks must not have more than 2 items."],
        "people.2.name": ["The people.2.name must be a string of at most 5 characters."],
        "people.2.nicks.1": ["The people.2.nicks.1 must be a string of at most 3 characters."],
        "people.3": ["The people.3 must be an object."],
    }


@pytest.mark.parametrize(
    ("member", "question"),
    [("Name", " Is it misspelt as Name?"), ("nmae", " Is it misspelt as nmae?"),
     ("na\nme", ""), ("colour", "")],
)  # fmt: skip
def test_a_missing_member_may_be_misspelt(member: str, question: str) -> None:
    assert list_errors(PERSON, {member: "Ada"}) == {"name": [f"The name is required.{question}"]}


def test_few_of_many_unknown_members_are_compared_with_a_missing_one() -> None:
    unknown_members = {f"other{number}": 1 for number in range(30)}
    assert list_errors(PERSON, unknown_members | {"nmae": "Ada"}) == {"name": ["The name is required."]}


def test_a_body_that_is_no_object_or_says_nothing() -> None:
    kind = object_of({"a": Property(integer(3))}, if_empty="Say a.")
    assert list_errors(kind, []) == {"body": ["The body must be an object."]}
    assert list_errors(kind, {"b": 1}) == {"body": ["Say a."]}
    assert kind.schema["anyOf"] == [{"required": ["a"]}]


def test_a_map_takes_only_the_names_there_are() -> None:
    kind = map_of({"a": integer(3)}, "is none of ours.")
    assert kind.read({"a": 1}) == {"a": 1}
    assert list_errors(kind, {"b": 1, "a": "x"}) == {
        "b": ["The b is none of ours."],
        "a": ["The a must be an integer of at most 3 digits."],
    }


def test_a_schema_is_made_of_its_parts() -> None:
    assert PERSON.schema == {
        "type": "object",
        "required": ["name"],
        "properties": {
            "name": {"type": "string", "maxLength": 5},
            "nicks": {"type": "array", "maxItems": 2, "items": {"type": "string", "maxLength": 3}},
            "score": {
                "anyOf": [{"anyOf": [{"type": "number"}, number("").schema["anyOf"][1]]}, {"type": "null"}]
            },
        },
    }


def test_pairs_name_the_key_at_fault() -> None:
    values: dict[str, int] = {}

    def read(key: str, text: str) -> None:
        values[key] = integer(3).then(abs).read(int(text))

    with pytest.raises(Invalid) as error_info:
        read_pairs({"a": " -5 ", "b": "5000"}, read)
    assert error_info.value.errors == {"b": ["b: must be an integer of at most 3 digits."]}
    assert values == {"a": 5}


@pytest.mark.parametrize(
    "query",
    [
        Query(b"size=3&colours[]=red&colours[]=blue&c[0][field]=x&c[0][value]=5"),
        Query(b"size=3&colours=red&colours=blue&c[0][field]=x&c[0][value]=5"),
        JsonInput({"size": 3, "colours": ["red", "blue"], "c": [{"field": "x", "value": 5, "y": None}]}),
    ],
)
def test_a_query_and_json_say_the_same(query: Input) -> None:
    assert SIZE.read(query) == 3
    assert COLOURS.read(query) == ("red", "blue")
    assert query.objects("c") == {0: {"field": "x", "value": "5"}}
    assert query.texts("size") == ["3"]
    query.finish()


@pytest.mark.parametrize(
    ("members", "rule"),
    [
        ({"size": [3]}, "must be a single value."),
        ({"size": []}, "must not be empty."),
        ({"size": Decimal("1.5")}, "must not hold numbers with fractions, arrays or objects."),
        ({"size": {}}, "must not hold numbers with fractions, arrays or objects."),
        ({"colours": "red"}, "must be a list of single values."),
        ({"colours": [{"a": 1}]}, "must be a list of single values."),
        ({"colours": []}, "must not be empty."),
        ({"colours": ["red", "red"]}, "must not have the same value twice."),
        ({"colours": [None]}, "must not hold numbers with fractions, arrays or objects."),
        ({"c": [{}]}, "must not hold empty objects."),
        ({"c": ["x"]}, "must be given as c[0][member]=value."),
        ({"c": [{"Field": "x"}]}, "must be given as c[0][member]=value."),
        ({"c": [{"field": ["x"]}]}, "must not hold numbers with fractions, arrays or objects."),
    ],
)
def test_json_of_another_shape_is_refused(members: dict[str, object], rule: str) -> None:
    query = JsonInput(members)
    SIZE.read(query)
    COLOURS.read(query)
    query.objects("c")
    (name,) = members
    assert query.errors == {name: [f"The {name} {rule}"]}


def test_null_is_absent() -> None:
    query = JsonInput({"size": None, "colours": None, "c": None})
    assert (SIZE.read(query), COLOURS.read(query), query.objects("c")) == (5, (), {})
    query.finish()
