"""Create signatures that Headwater verifies, for logged-in visitors and webhooks."""

from __future__ import annotations

import base64
import hashlib
import hmac
import time
import uuid


def sign_identity(
    secret: str, *, email: str = "", tracking_id: str = "", at: int | None = None
) -> dict[str, str | int]:
    """Return signed arguments for `trk.identify`, valid for 24 hours. Sign on the server, and only logged-in
    visitors.
    """
    moment = int(time.time()) if at is None else at
    line = f"{moment} {email.strip().lower()} {tracking_id}"
    signature = hmac.new(secret.encode(), line.encode(), hashlib.sha256).hexdigest()
    identity: dict[str, str | int] = {"signed_at": moment, "signature": signature}
    if email:
        identity["email"] = email
    if tracking_id:
        identity["tracking_id"] = tracking_id
    return identity


def sign_webhook(
    secret: str, body: bytes, *, message_id: str | None = None, at: int | None = None
) -> dict[str, str]:
    """Return the headers of a delivery to a generic webhook (Standard Webhooks). A retry needs the same
    `message_id`.
    """
    name = message_id or str(uuid.uuid4())
    moment = str(int(time.time()) if at is None else at)
    try:
        key = base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    except ValueError:
        raise ValueError("secret must be whsec_ and a key in base64") from None
    signed = b".".join((name.encode(), moment.encode(), body))
    digest = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    return {"webhook-id": name, "webhook-timestamp": moment, "webhook-signature": f"v1,{digest}"}
