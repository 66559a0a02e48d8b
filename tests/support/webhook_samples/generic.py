"""A body of the generic type, with the field names of our API."""

from __future__ import annotations

from tests.support.webhook_samples.sample import Sample, in_hex

SAMPLE = Sample(
    type="generic", body={"email": "ada@example.com", "amount": 1}, signature="X-Signature", sign=in_hex
)
