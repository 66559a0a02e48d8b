from __future__ import annotations

from headwater.forwarding.deliveries import parameters
from headwater.http.openapi import Schema, body

BODY_OF_REPLAY: Schema = body(
    {
        "type": "object",
        "properties": {
            member.name: {**member.openapi()["schema"], "description": member.description}
            for member in parameters.REPLAY_MEMBERS
        },
    }
)
