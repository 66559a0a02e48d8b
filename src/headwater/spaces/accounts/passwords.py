"""Passwords: the rules for new ones, and Argon2id hashes, off the event loop.

Few run at a time, because each needs tens of megabytes and a core, which ingest needs too.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
import unicodedata
from collections.abc import Iterable
from importlib.resources import files

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError
from msgspec import Struct

from headwater.http.errors import Invalid

MIN_LENGTH, MAX_LENGTH = 10, 256
AT_ONCE = 2
BREACHED = "breached_passwords.txt"
"""Written by scripts/refresh_breached_passwords.py."""
PRODUCT = "headwater"
_WORD = re.compile(r"[^\W_]{4,}")
_HASH_DIGITS = 10


class Verdict(Struct, frozen=True):
    """The result of a comparison, with a new hash if the stored one is outdated."""

    matches: bool
    rehashed: str | None = None


class Passwords:
    """Creates and verifies hashes with the parameters of `hasher`."""

    def __init__(self, hasher: PasswordHasher | None = None) -> None:
        self._hasher = hasher or PasswordHasher()
        self._places = asyncio.Semaphore(AT_ONCE)
        self._nobody: str | None = None

    async def hash(self, password: str) -> str:
        async with self._places:
            return await asyncio.to_thread(self._hasher.hash, _normal(password))

    async def verify(self, stored_hash: str | None, password: str) -> Verdict:
        """Compare a password with a stored hash. None, without a password or user, takes the same time and
        never matches.
        """
        async with self._places:
            return await asyncio.to_thread(self._verify, stored_hash, password)

    def _verify(self, stored_hash: str | None, password: str) -> Verdict:
        if self._nobody is None:
            self._nobody = self._hasher.hash("nobody's password")
        if len(password) > MAX_LENGTH:
            stored_hash, password = None, ""
        try:
            self._hasher.verify(stored_hash or self._nobody, _normal(password))
        except (VerificationError, InvalidHashError):
            return Verdict(matches=False)
        if not stored_hash:
            return Verdict(matches=False)
        is_stale = self._hasher.check_needs_rehash(stored_hash)
        return Verdict(matches=True, rehashed=self._hasher.hash(_normal(password)) if is_stale else None)


def check_password(password: str, context: Iterable[str]) -> None:
    """Raise Invalid for a new password of a wrong length, one that is known from breaches, or one that has
    fewer than MIN_LENGTH characters besides words that an attacker tries first: the product's name and those
    in `context`, such as the user's address and the Space's name.
    """
    if len(password) < MIN_LENGTH:
        raise Invalid.of("password", f"must have at least {MIN_LENGTH} characters.")
    if len(password) > MAX_LENGTH:
        raise Invalid.of("password", f"must have at most {MAX_LENGTH} characters.")
    if "\0" in password or any("\ud800" <= char <= "\udfff" for char in password):
        raise Invalid.of("password", "must be text.")
    if f"\n{hash_breached(password)}\n" in files("headwater.spaces.accounts").joinpath(BREACHED).read_text(
        encoding="utf-8"
    ):
        raise Invalid.of("password", "is known from data breaches. Choose another one.")
    if len(_without_words(password, context)) < MIN_LENGTH:
        raise Invalid.of(
            "password",
            f"must have at least {MIN_LENGTH} characters besides your name, your address and the names of "
            "this service and your Spaces.",
        )


def hash_breached(password: str) -> str:
    """Return a password as BREACHED has it; upper and lower case are the same."""
    return hashlib.sha256(_normal(password.casefold())).hexdigest()[:_HASH_DIGITS]


def _without_words(password: str, context: Iterable[str]) -> str:
    words = {word for text in (PRODUCT, *context) for word in _WORD.findall(text.casefold())}
    remainder = password.casefold()
    for word in sorted(words, key=len, reverse=True):
        remainder = remainder.replace(word, "")
    return remainder


def _normal(password: str) -> bytes:
    """Normalize the Unicode forms that keyboards send for the same characters."""
    return unicodedata.normalize("NFKC", password).encode("utf-8", "surrogatepass")
