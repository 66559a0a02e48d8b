"""A software authenticator, for responses that no browser sends: other origins, counters and flags."""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
from dataclasses import dataclass, field
from typing import Any

import cbor2
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256

PRESENT, VERIFIED, ATTESTED = 0x01, 0x04, 0x40


def write(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


@dataclass
class SoftAuthenticator:
    """A passkey for one origin."""

    origin: str
    rp_id: str
    count: int = 0
    flags: int = PRESENT | VERIFIED
    id: bytes = field(default_factory=lambda: secrets.token_bytes(16))
    key: ec.EllipticCurvePrivateKey = field(default_factory=lambda: ec.generate_private_key(ec.SECP256R1()))
    user_handle: str | None = None

    def create(self, options: dict[str, Any]) -> dict[str, Any]:
        """Answer a registration request for a new passkey."""
        self.user_handle = options["user"]["id"]
        numbers = self.key.public_key().public_numbers()
        point = {-2: numbers.x.to_bytes(32, "big"), -3: numbers.y.to_bytes(32, "big")}
        credential_data = (
            bytes(16) + len(self.id).to_bytes(2, "big") + self.id + cbor2.dumps({1: 2, 3: -7, -1: 1} | point)
        )
        data = self._data(ATTESTED) + credential_data
        statement = cbor2.dumps({"fmt": "none", "attStmt": {}, "authData": data})
        client = self._client("webauthn.create", options["challenge"])
        return self._answer({"attestationObject": write(statement), "clientDataJSON": write(client)})

    def get(self, options: dict[str, Any]) -> dict[str, Any]:
        """Answer an authentication request."""
        client, data = self._client("webauthn.get", options["challenge"]), self._data()
        signature = self.key.sign(data + hashlib.sha256(client).digest(), ec.ECDSA(SHA256()))
        return self._answer({
            "clientDataJSON": write(client), "authenticatorData": write(data),
            "signature": write(signature), "userHandle": self.user_handle,
        })  # fmt: skip

    def _data(self, extra: int = 0) -> bytes:
        flags = bytes([self.flags | extra])
        return hashlib.sha256(self.rp_id.encode()).digest() + flags + self.count.to_bytes(4, "big")

    def _client(self, kind: str, challenge: str) -> bytes:
        return json.dumps({"type": kind, "challenge": challenge, "origin": self.origin}).encode()

    def _answer(self, response: dict[str, Any]) -> dict[str, Any]:
        return {"id": write(self.id), "rawId": write(self.id), "type": "public-key", "response": response,
                "clientExtensionResults": {}}  # fmt: skip
