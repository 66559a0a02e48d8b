"""`make mutants`: which faults it draws, and that it tells a test that notices one from none."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from scripts import mutants
from scripts.mutants import EQUIVALENT, read_reasons, read_sources, try_fault
from scripts.mutation import draw_faults, find_faults

from tests.support.campaigns import IS_LONG, campaign_size

FAULTS = campaign_size("HEADWATER_DRAWN_FAULTS", 100, 400)
SHARE = 8 if IS_LONG else 32
"""One module in so many is tried."""
MODULE = '''
def clamp(value: int, most: int = 1 + 1) -> int:
    """A number that is not above a bound."""
    note(value)
    if value < 0 or not most:
        return 0
    return value if value <= most else most - 1
'''


def test_it_works() -> None:
    changed = {(fault.was, fault.becomes) for fault in find_faults("base/clamp.py", MODULE)}
    assert changed == {
        ("note(value)", "pass"),
        ("value < 0 or not most", "(value < 0 and (not most))"),
        ("value < 0", "(value <= 0)"),
        ("not most", "(most)"),
        ("value <= most", "(value < most)"),
        ("most - 1", "(most - 1 + 1)"),
    }


def test_every_fault_of_the_source_is_a_module_that_differs_in_one_place() -> None:
    sources = dict(list(read_sources().items())[::SHARE])
    drawn = draw_faults(sources, FAULTS, seed=12)
    assert drawn == draw_faults(sources, FAULTS, seed=12)
    assert len({fault.kind for fault in drawn}) >= 4  # constants to be off by one are rare
    sound = {path: ast.dump(ast.parse(sources[path])) for path in {fault.path for fault in drawn}}
    for fault in drawn:
        faulty = fault.written_into(sources[fault.path])
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
    package = tmp_path / "src" / "headwater" / "base"
    package.mkdir(parents=True)
    (package.parent / "__init__.py").write_text("")
    (package / "__init__.py").write_text("")
    module = package / "clamp.py"
    module.write_text(MODULE.replace("    note(value)\n", ""))
    tests = tmp_path / "tests" / "base"
    tests.mkdir(parents=True)
    (tests / "test_clamp.py").write_text(
        f"from headwater.base.clamp import clamp\n\ndef test_it_works():\n    assert {claim}\n"
    )
    (fault,) = [
        fault for fault in find_faults("base/clamp.py", module.read_text())
        if fault.was == "value <= most"
    ]  # fmt: skip
    assert try_fault(tmp_path, fault) is is_noticed
    assert fault.written_into(module.read_text())
