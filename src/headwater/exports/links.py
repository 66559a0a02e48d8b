"""Signed, expiring links to single files."""

from __future__ import annotations

import hmac
import re
from urllib.parse import quote, urlencode

from msgspec import Struct

from headwater.exports.formats import EXTENSION

PATH = "/downloads"
FILE = re.compile(rf"[0-9a-f]{{8}}-(?:[0-9a-f]{{4}}-){{3}}[0-9a-f]{{12}}(?:-[0-9]{{4,}})?{EXTENSION}")
_EXPIRES = re.compile("[0-9]{1,12}")


class Download(Struct, frozen=True):
    file: str
    download_name: str

    def url(self, base_url: str, signing_key: bytes, expires: int) -> str:
        """Return a link that works until `expires`, in Unix seconds."""
        query = urlencode({"expires": expires, "signature": self._signature(signing_key, expires)})
        return f"{base_url}{PATH}/{self.file}/{quote(self.download_name)}?{query}"

    def admits(self, signing_key: bytes, query: dict[str, str], current_time: float) -> bool:
        expires = query.get("expires", "")
        if not FILE.fullmatch(self.file) or not _EXPIRES.fullmatch(expires):
            return False
        expected_signature = self._signature(signing_key, int(expires)).encode()
        signature = query.get("signature", "").encode("utf-8", "surrogateescape")
        return hmac.compare_digest(signature, expected_signature) and current_time < int(expires)

    def _signature(self, signing_key: bytes, expires: int) -> str:
        message = f"download\0{self.file}\0{self.download_name}\0{expires}"
        return hmac.digest(signing_key, message.encode(), "sha256").hex()
