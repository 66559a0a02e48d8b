"""`make mutants`: the faults that it draws, and that it distinguishes tests that detect a fault from tests
that don't.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import pytest
from scripts import mutants
from scripts.mutants import EQUIVALENT, read_reasons, read_sources, steps, try_fault
from scripts.mutation import draw_faults, find_faults
from scripts.reach import find_reaching, make_span, read_notes, wrap_spans

from tests.support.campaigns import IS_LONG, campaign_size

FAULTS = campaign_size("HEADWATER_DRAWN_FAULTS", 100, 400)
SHARE = 8 if IS_LONG else 32
"""One module in this many is tried."""
MODULE = '''
def clamp(value: int, most: int = 1 + 1) -> int:
    """A number that is not above a bound."""
    note(value)
    if value < 0 or not most:
        return 0
    return value if value <= most else most - 1
'''


def test_it_works() -> None:
    changes = {(fault.original, fault.replacement) for fault in find_faults("base/clamp.py", MODULE)}
    assert changes == {
        ("note(value)", "pass"),
        ("value < 0 or not most", "(value < 0 and (not most))"),
        ("value < 0", "(value <= 0)"),
        ("not most", "(most)"),
        ("value <= most", "(value < most)"),
        ("most - 1", "(most - 1 + 1)"),
    }


def test_every_fault_of_the_source_is_a_module_that_differs_in_one_place() -> None:
    sources = dict(list(read_sources().items())[::SHARE])
    sample = draw_faults(sources, FAULTS, seed=12)
    assert sample == draw_faults(sources, FAULTS, seed=12)
    assert len({fault.kind for fault in sample}) >= 4  # off-by-one constants are rare
    sound = {path: ast.dump(ast.parse(sources[path])) for path in {fault.path for fault in sample}}
    for fault in sample:
        faulty = fault.apply(sources[fault.path])
        assert ast.dump(ast.parse(faulty)) != sound[fault.path], fault.name


def test_reasons_belong_to_faults_that_are_still_there() -> None:
    reasons = read_reasons(EQUIVALENT.read_text())
    sources = read_sources()
    paths = {name.partition(": ")[0] for name in reasons}
    names = {fault.name for path in paths for fault in find_faults(path, sources[path])}
    assert sorted(reasons.keys() - names) == []


@pytest.mark.parametrize(
    ("claim", "is_noticed"),
    [("clamp(5, 5) == 5", True), ("clamp(1, 5) == 1", False), ("clamp(1, 5) == 7", False)],
)
def test_a_fault_is_noticed_by_a_test_that_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, claim: str, *, is_noticed: bool
) -> None:
    monkeypatch.setattr(mutants, "WORKERS", ())
    monkeypatch.delenv("PYTEST_CURRENT_TEST")  # otherwise it would count as the importing test
    package = tmp_path / "src" / "headwater" / "base"
    package.mkdir(parents=True)
    (package.parent / "__init__.py").write_text("")
    (package / "__init__.py").write_text("")
    module = package / "clamp.py"
    sound = MODULE.replace("    note(value)\n", "")
    module.write_text(sound)
    tests = tmp_path / "tests" / "base"
    tests.mkdir(parents=True)
    (tests / "test_clamp.py").write_text(
        f"from headwater.base.clamp import clamp\n\ndef test_it_works():\n    assert {claim}\n"
    )
    (tests / "test_import.py").write_text(
        "from headwater.base.clamp import clamp\n\nONE = clamp(1)\n\ndef test_it_works():\n    assert ONE\n"
    )
    (fault,) = [
        fault for fault in find_faults("base/clamp.py", module.read_text())
        if fault.original == "value <= most"
    ]  # fmt: skip
    (reaching_tests,) = find_reaching(tmp_path, [fault], ["pytest", "-q"])
    assert reaching_tests == {
        "tests/base/test_clamp.py": ["tests/base/test_clamp.py::test_it_works"],
        "tests/base/test_import.py": ["tests/base/test_import.py"],
    }
    assert try_fault(tmp_path, fault, reaching_tests) is is_noticed
    assert module.read_text() == sound


def test_tests_that_cannot_run_are_an_error(tmp_path: Path) -> None:
    (tmp_path / "src" / "headwater").mkdir(parents=True)
    with pytest.raises(SystemExit, match="could not run"):
        find_reaching(tmp_path, [], ["pytest", "--unknown-option"])


def test_notes_around_every_fault_change_no_result() -> None:
    faults = find_faults("base/clamp.py", MODULE)
    text = wrap_spans(MODULE, [make_span(index, fault) for index, fault in enumerate(faults)])
    came_by: list[int] = []
    calls: list[int] = []
    names: dict[str, Any] = {"note": calls.append}
    annotated_text = re.sub(
        re.escape("__import__('headwater.reach', fromlist=['note']).note"), "came_by", text
    )
    exec(annotated_text, names | {"came_by": came_by.append}, names)  # the module above
    assert [names["clamp"](value, 5) for value in (-1, 3, 7)] == [0, 3, 4]
    assert calls == [-1, 3, 7]
    assert set(came_by) == set(range(len(faults)))


def test_fixtures_and_imports_reach_a_place_for_their_whole_file() -> None:
    notes = ["0 tests/test_a.py::test_b[x y] (call)", "1 tests/test_a.py::test_b (call)",
             "1 tests/test_a.py::test_c (setup)", "1 tests/test_d.py::test_e (call)",
             "2 tests/test_f.py (import)"]  # fmt: skip
    assert read_notes(notes, 4) == [
        {"tests/test_a.py": ["tests/test_a.py::test_b[x y]"]},
        {"tests/test_a.py": ["tests/test_a.py"], "tests/test_d.py": ["tests/test_d.py::test_e"]},
        {"tests/test_f.py": ["tests/test_f.py"]}, {},
    ]  # fmt: skip


def test_the_nearest_files_come_first() -> None:
    reaching_tests = {
        "tests/reports/test_a.py": ["tests/reports/test_a.py::test_b"],
        "tests/people/test_identity.py": ["tests/people/test_identity.py"],
        "tests/people/test_c.py": ["tests/people/test_c.py::test_d"],
    }
    (near_tests, far_tests) = steps("people/identity/resolution.py", reaching_tests)
    assert list(near_tests) == [
        "tests/people/test_identity.py",
        "tests/people/test_c.py",
        "tests/reports/test_a.py",
    ]
    assert far_tests == {}
