"""The content of answers to the suite: images, sounds, schemas and requests for input."""

from __future__ import annotations

import base64
import zlib
from typing import Any

from mcp_types import (
    CallToolResult,
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    InputRequiredResult,
    TextContent,
    TextResourceContents,
)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return len(data).to_bytes(4, "big") + kind + data + zlib.crc32(kind + data).to_bytes(4, "big")


_HEAD = (1).to_bytes(4, "big") * 2 + b"\x08\x02\0\0\0"
PNG = base64.b64encode(
    b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", _HEAD)
    + _chunk(b"IDAT", zlib.compress(b"\0\xff\0\0")) + _chunk(b"IEND", b"")
).decode()  # fmt: skip
_FORMAT = b"\x01\0\x01\0\x40\x1f\0\0\x40\x1f\0\0\x01\0\x08\0"
WAV = base64.b64encode(b"RIFF\x26\0\0\0WAVEfmt \x10\0\0\0" + _FORMAT + b"data\x02\0\0\0\x80\x80").decode()

OBJECT: dict[str, Any] = {"type": "object", "properties": {}}
ADDRESS = {
    "$anchor": "addressDef", "type": "object",
    "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
}  # fmt: skip
EVERY_KEYWORD = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {"address": ADDRESS},
    "properties": {
        "name": {"type": "string"}, "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"}, "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}  # fmt: skip
IN_HEADERS = {
    "type": "object",
    "properties": {
        "region": {"type": "string", "x-mcp-header": "Region"},
        "priority": {"type": "integer", "x-mcp-header": "Priority"},
        "verbose": {"type": "boolean", "x-mcp-header": "Verbose"},
        "note": {"type": "string", "x-mcp-header": "Note"},
    },
}  # fmt: skip

# ------------------------------------------------------------------------------ contents and requests


def text(text: str) -> TextContent:
    return TextContent(type="text", text=text)


def image() -> ImageContent:
    return ImageContent(type="image", data=PNG, mime_type="image/png")


def embedded(uri: str, text: str, mime_type: str = "text/plain") -> EmbeddedResource:
    contents = TextResourceContents(uri=uri, mime_type=mime_type, text=text)
    return EmbeddedResource(type="resource", resource=contents)


def tool_result(*content: ContentBlock) -> CallToolResult:
    return CallToolResult(content=list(content))


def elicit(message: str, **properties: str) -> dict[str, Any]:
    schema = {
        "type": "object",
        "properties": {name: {"type": kind} for name, kind in properties.items()},
        "required": list(properties),
    }
    params = {"mode": "form", "message": message, "requestedSchema": schema}
    return {"method": "elicitation/create", "params": params}


def sample(text: str, max_tokens: int) -> dict[str, Any]:
    message = {"role": "user", "content": {"type": "text", "text": text}}
    params = {"messages": [message], "maxTokens": max_tokens}
    return {"method": "sampling/createMessage", "params": params}


ROOTS: dict[str, Any] = {"method": "roots/list", "params": {}}


def required_input(requests: dict[str, Any], state: str | None = None) -> InputRequiredResult:
    fields = {"inputRequests": requests, "resultType": "input_required"}
    return InputRequiredResult.model_validate(
        {**fields, **({} if state is None else {"requestState": state})}
    )
