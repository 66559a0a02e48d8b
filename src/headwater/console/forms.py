"""Posted forms, accepted only from our own page in the same browser.

Checked: the sender site that the browser reports, a token signed with the visitor's secret and the form's
name, and a single-use token where needed.
"""

from __future__ import annotations

import hmac
import secrets
import time
from collections.abc import AsyncGenerator, Sequence
from urllib.parse import parse_qsl, urlsplit

import msgspec
from msgspec import Struct
from psycopg import AsyncConnection
from starlette.datastructures import UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import Request

from headwater.endpoints.services import services
from headwater.http.bodies import read_body
from headwater.http.errors import Errors, FormRefused, Invalid, make_problem, make_sentence
from headwater.spaces.accounts.attempts import take_attempt

MAX_FORM = 256 * 1024
MAX_FIELDS = 500
TOKEN = "form_token"  # noqa: S105 # a field's name
SHOWN = "shown"
"""The field with the values that a form was opened with."""
ONCE_SECONDS = 12 * 60 * 60
_DIGEST_BYTES = 32
_EXPIRED = "This form has expired and changed nothing. Open its page again to submit it."
_SENT_BEFORE = "This form was sent before. Open its page again to see what was saved, or to send another one."


class PostedForm(Struct, frozen=True):
    pairs: tuple[tuple[str, str], ...]

    def text(self, name: str) -> str:
        """Return the first value, or an empty string."""
        return next((value for key, value in self.pairs if key == name), "")

    def texts(self, name: str) -> list[str]:
        return [value for key, value in self.pairs if key == name]

    def number(self, name: str) -> int:
        """Return an id. Raise Invalid."""
        text = self.text(name)
        if not (text.isascii() and text.isdigit() and len(text) <= 18):
            raise Invalid.of(name, "must be a number.")
        return int(text)


def read_shown(form: PostedForm, current: dict[str, str]) -> dict[str, str]:
    """Return the values that a form was opened with, because a value that another form has changed since then
    must not return to its old one. Without them, return the current ones.
    """
    try:
        return msgspec.json.decode(form.text(SHOWN), type=dict[str, str])
    except msgspec.DecodeError:
        return current


def write_shown(form: PostedForm, current: dict[str, str]) -> str:
    """Return the value of the field SHOWN: a refused form keeps its own."""
    return form.text(SHOWN) or msgspec.json.encode(current).decode()


def without_keys(errors: Errors) -> Errors:
    return {
        key: [make_sentence(rule.removeprefix(f"{key}: ")) for rule in rules] for key, rules in errors.items()
    }


def form_token(key: bytes, form: str) -> str:
    """Return a reusable form's token; `key` belongs to the visitor or guest.

    Answers mask it differently, so the size of compressed pages doesn't leak it.
    """
    mask = secrets.token_bytes(_DIGEST_BYTES)
    return (mask + _masked(_form_digest(key, form), mask)).hex()


def _form_digest(key: bytes, form: str) -> bytes:
    return hmac.digest(key, b"form\0" + form.encode(), "sha256")


def _masked(digest: bytes, mask: bytes) -> bytes:
    return bytes(a ^ b for a, b in zip(digest, mask, strict=True))


def _check_token(posted: PostedForm, key: bytes, form: str) -> None:
    try:
        token = bytes.fromhex(posted.text(TOKEN))
    except ValueError:
        raise FormRefused(_EXPIRED) from None
    if len(token) != 2 * _DIGEST_BYTES:
        raise FormRefused(_EXPIRED)
    digest = _masked(token[_DIGEST_BYTES:], token[:_DIGEST_BYTES])
    if not hmac.compare_digest(digest, _form_digest(key, form)):
        raise FormRefused(_EXPIRED)


def once_token(key: bytes, form: str, bound: str = "") -> str:
    """Return a token for one submission within ONCE_SECONDS; `bound` must not change."""
    stamp = f"{int(time.time())}.{secrets.token_urlsafe(16)}"
    return f"{stamp}.{_sign_once(key, form, bound, stamp)}"


async def read_form(request: Request, key: bytes, form: str) -> PostedForm:
    """Raise FormRefused for a form from another site or visitor, Invalid for a malformed one."""
    posted_form = await _read(request)
    _check_token(posted_form, key, form)
    return posted_form


async def read_form_once(request: Request, key: bytes, form: str, bound: str = "") -> PostedForm:
    """Check the `once_token`; `spend` uses it up."""
    posted_form = await _read(request)
    check_once(posted_form, key, form, bound)
    return posted_form


def check_once(posted: PostedForm, key: bytes, form: str, bound: str = "") -> None:
    """Raise FormRefused without a valid, unexpired `once_token`."""
    stamp, _, signature = posted.text(TOKEN).rpartition(".")
    expected_signature = _sign_once(key, form, bound, stamp)
    if not hmac.compare_digest(signature.encode(), expected_signature.encode()):
        raise FormRefused(_EXPIRED)
    if time.time() - int(stamp.partition(".")[0]) > ONCE_SECONDS:
        raise FormRefused(_EXPIRED)


async def spend(connection: AsyncConnection, posted: PostedForm) -> None:
    """Use up a `once_token` in this transaction. Raise FormRefused for a used one."""
    is_fresh = await take_attempt(connection, "form", posted.text(TOKEN), 1, ONCE_SECONDS + 60)
    if not is_fresh.admitted:
        raise FormRefused(_SENT_BEFORE)


async def read_form_with_files(request: Request, key: bytes, form: str, limit: int) -> PostedForm:
    """Read at most `limit` bytes, with files decoded to text. Raise FormRefused, Invalid."""
    is_multipart = _kind(request) == "multipart/form-data"
    posted_form = await (_read_parts(request, limit) if is_multipart else _read(request, limit))
    _check_token(posted_form, key, form)
    return posted_form


async def _read_parts(request: Request, limit: int) -> PostedForm:
    refuse_foreign(request)
    if "content-encoding" in request.headers:
        raise make_problem(415)
    body = await read_body(request.receive, limit)

    async def stream() -> AsyncGenerator[bytes, None]:
        yield body

    parser = MultiPartParser(
        request.headers, stream(), max_files=2, max_fields=MAX_FIELDS, max_part_size=limit
    )
    pairs: list[tuple[str, str]] = []
    try:
        parts = await parser.parse()
        try:
            for name, value in parts.multi_items():
                is_file = isinstance(value, UploadFile)
                content = (await value.read()).decode() if is_file else value
                pairs.append((name, content))
        finally:
            await parts.close()
    except (MultiPartException, ValueError):
        raise Invalid({"body": ["The form or its file is not UTF-8 text."]}) from None
    return _checked(pairs)


def _kind(request: Request) -> str:
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


async def _read(request: Request, limit: int = MAX_FORM) -> PostedForm:
    refuse_foreign(request)
    if _kind(request) != "application/x-www-form-urlencoded" or ("content-encoding" in request.headers):
        raise make_problem(415)
    try:
        text = (await read_body(request.receive, limit)).decode()
        pairs = parse_qsl(text, keep_blank_values=True, errors="strict", max_num_fields=MAX_FIELDS)
    except ValueError:
        raise Invalid({"body": ["The form cannot be read."]}) from None
    return _checked(pairs)


def _checked(pairs: Sequence[tuple[str, str]]) -> PostedForm:
    if any("\0" in text for pair in pairs for text in pair):
        raise Invalid({"body": ["The form contains a NUL character."]})
    return PostedForm(tuple(pairs))


def refuse_foreign(request: Request) -> None:
    """Raise FormRefused for a form sent by another site.

    Pages without a referrer post `Origin: null`. On https browsers then send Sec-Fetch-Site; on plain http
    only the token protects.
    """
    site = request.headers.get("sec-fetch-site")
    if site not in (None, "same-origin", "none"):
        raise FormRefused("The form was sent from another site.")
    shared = services(request)
    origin = request.headers.get("origin")
    if origin is None:
        return
    if origin == "null":
        if site is None and shared.base_url.startswith("https://"):
            raise FormRefused(
                "The browser did not report which site sent the form. Over http browsers don't. Open the"
                f" console at {shared.base_url}."
            )
        return
    base_url = shared.settings.base_url
    is_same_site = origin == base_url if base_url else _parse_host(origin) == request.headers.get("host")
    if not is_same_site:
        raise FormRefused(f"The form was sent from another site than {base_url or 'this one'}.")


def _parse_host(origin: str) -> str:
    """Return an origin's host and port, or an empty string."""
    try:
        return urlsplit(origin).netloc
    except ValueError:
        return ""


def _sign_once(key: bytes, form: str, bound: str, stamp: str) -> str:
    signed = f"once\0{form}\0{bound}\0{stamp}".encode("utf-8", "surrogatepass")
    return hmac.new(key, signed, "sha256").hexdigest()
