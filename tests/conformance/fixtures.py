"""The server that the public suite expects: a tool, resource or prompt for each feature of the protocol. It
runs behind our own endpoint in place of the production server, so that the suite tests the endpoint.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
from mcp.server.caching import CacheHint
from mcp.server.lowlevel import Server
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    AudioContent,
    BlobResourceContents,
    CallToolResult,
    CompleteResult,
    Completion,
    ContentBlock,
    EmptyResult,
    GetPromptResult,
    InputRequiredResult,
    ListPromptsResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    Prompt,
    PromptArgument,
    PromptMessage,
    ReadResourceResult,
    Resource,
    ResourceTemplate,
    TextResourceContents,
    Tool,
)

from tests.conformance.content import (
    EVERY_KEYWORD,
    IN_HEADERS,
    OBJECT,
    PNG,
    ROOTS,
    WAV,
    elicit,
    embedded,
    image,
    required_input,
    sample,
    text,
    tool_result,
)

# ------------------------------------------------------------------------------------------ tools

Answer = CallToolResult | InputRequiredResult
Call = Callable[[Any, Any], Awaitable[Answer]]

SIMPLE: dict[str, CallToolResult] = {
    "test_simple_text": tool_result(text("This is a simple text response for testing.")),
    "test_image_content": tool_result(image()),
    "test_audio_content": tool_result(AudioContent(type="audio", data=WAV, mime_type="audio/wav")),
    "test_embedded_resource": tool_result(
        embedded("test://embedded-resource", "This is an embedded resource content.")
    ),
    "test_multiple_content_types": tool_result(
        text("Multiple content types test:"),
        image(),
        embedded("test://mixed-content-resource", '{"test":"data","value":123}', "application/json"),
    ),
    "test_error_handling": CallToolResult(
        content=[text("This tool intentionally returns an error for testing")], is_error=True
    ),
    "json_schema_2020_12_tool": tool_result(text("ok")),
    "test_x_mcp_header": tool_result(text("ok")),
}


async def _progress(context: Any, _: Any) -> Answer:
    for percent in (0, 50, 100):
        await context.session.report_progress(percent, 100)
        await anyio.sleep(0.05)
    return tool_result(text("done"))


async def _log(context: Any, _: Any) -> Answer:
    for words in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        await context.session.send_log_message(
            level="info", data=words, related_request_id=context.request_id
        )
        await anyio.sleep(0.05)
    return tool_result(text("done"))


async def _missing_capability(context: Any, _: Any) -> Answer:
    capabilities = context.session.client_capabilities
    if capabilities is None or capabilities.sampling is None:
        raise MCPError(
            code=MISSING_REQUIRED_CLIENT_CAPABILITY,
            message="Sampling is needed.",
            data={"requiredCapabilities": {"sampling": {}}},
        )
    return tool_result(text("done"))


def _rounds(*rounds: dict[str, Any], stateful: bool = False, final_text: str = "done") -> Call:
    """Return a tool that requests several inputs in turn. Its state is the number of requests so far."""

    async def call(_: Any, params: Any) -> Answer:
        responses = params.input_responses or {}
        round_number = int(params.request_state or 0) if stateful else 0
        if responses.keys() >= rounds[round_number].keys():
            round_number += 1
        if round_number == len(rounds):
            return tool_result(text(f"{final_text} {json.dumps(_dump_responses(responses))}"))
        return required_input(rounds[round_number], str(round_number) if stateful else None)

    return call


def _dump_responses(responses: dict[str, Any]) -> Any:
    return {name: response.model_dump(mode="json") for name, response in responses.items()}


async def _capabilities(context: Any, params: Any) -> Answer:
    capabilities = context.session.client_capabilities
    inputs = {
        "sampling": ("capital", sample("What is the capital of France?", 100)),
        "elicitation": ("name", elicit("What is your name?", name="string")),
        "roots": ("roots", ROOTS),
    }
    can = [pair for name, pair in inputs.items() if getattr(capabilities, name, None) is not None]
    if params.input_responses or not can:
        return tool_result(text("done"))
    return required_input(dict(can))


NAME = {"user_name": elicit("What is your name?", name="string")}
CONFIRM = {"confirm": elicit("Please confirm", ok="boolean")}
CAPITAL = {"capital_question": sample("What is the capital of France?", 100)}
ALL_KINDS = {**NAME, "greeting": sample("Generate a greeting", 50), "client_roots": ROOTS}
STEPS = (
    {"step1": elicit("Step 1: What is your name?", name="string")},
    {"step2": elicit("Step 2: What is your favorite color?", color="string")},
)
ASKING: dict[str, Call] = {
    "test_tool_with_progress": _progress,
    "test_tool_with_logging": _log,
    "test_logging_tool": _log,
    "test_missing_capability": _missing_capability,
    "test_input_required_result_elicitation": _rounds(NAME, final_text="Hello,"),
    "test_input_required_result_sampling": _rounds(CAPITAL),
    "test_input_required_result_list_roots": _rounds({"client_roots": ROOTS}),
    "test_input_required_result_request_state": _rounds(CONFIRM, stateful=True, final_text="state-ok"),
    "test_input_required_result_multiple_inputs": _rounds(ALL_KINDS, stateful=True),
    "test_input_required_result_multi_round": _rounds(*STEPS, stateful=True),
    "test_input_required_result_tampered_state": _rounds(CONFIRM, stateful=True),
    "test_input_required_result_capabilities": _capabilities,
}
SCHEMAS = {"json_schema_2020_12_tool": EVERY_KEYWORD, "test_x_mcp_header": IN_HEADERS}


async def _list_tools(_: Any, __: Any) -> ListToolsResult:
    names = [*SIMPLE, *ASKING]
    return ListToolsResult(
        tools=[Tool(name=name, description=name, input_schema=SCHEMAS.get(name, OBJECT)) for name in names]
    )


async def _call_tool(context: Any, params: Any) -> Answer:
    if params.name in ASKING:
        return await ASKING[params.name](context, params)
    unknown = CallToolResult(content=[text("There is no such tool.")], is_error=True)
    return SIMPLE.get(params.name, unknown)


# --------------------------------------------------------------------------- resources and prompts


async def _list_resources(_: Any, __: Any) -> ListResourcesResult:
    names = ("static-text", "static-binary", "watched-resource")
    return ListResourcesResult(resources=[Resource(uri=f"test://{name}", name=name) for name in names])


async def _list_templates(_: Any, __: Any) -> ListResourceTemplatesResult:
    template = ResourceTemplate(uri_template="test://template/{id}/data", name="template")
    return ListResourceTemplatesResult(resource_templates=[template])


async def _read_resource(_: Any, params: Any) -> ReadResourceResult:
    uri = str(params.uri)
    number = uri.removeprefix("test://template/").removesuffix("/data")
    if uri == "test://static-binary":
        blob = BlobResourceContents(uri=uri, mime_type="image/png", blob=PNG)
        return ReadResourceResult(contents=[blob])
    if uri in ("test://static-text", "test://watched-resource"):
        words, mime_type = "This is the content of the static text resource.", "text/plain"
    elif uri == f"test://template/{number}/data":
        data = {"id": number, "templateTest": True, "data": f"Data for ID: {number}"}
        words, mime_type = json.dumps(data), "application/json"
    else:
        raise MCPError(code=INVALID_PARAMS, message="Resource not found", data={"uri": uri})
    contents = TextResourceContents(uri=uri, mime_type=mime_type, text=words)
    return ReadResourceResult(contents=[contents])


async def _empty_result(_: Any, __: Any) -> EmptyResult:
    return EmptyResult()


PROMPTS = {
    "test_simple_prompt": (),
    "test_prompt_with_arguments": ("arg1", "arg2"),
    "test_prompt_with_embedded_resource": ("resourceUri",),
    "test_prompt_with_image": (),
    "test_input_required_result_prompt": (),
}


async def _list_prompts(_: Any, __: Any) -> ListPromptsResult:
    return ListPromptsResult(
        prompts=[
            Prompt(
                name=name, description=name,
                arguments=[PromptArgument(name=argument, required=True) for argument in arguments],
            )
            for name, arguments in PROMPTS.items()
        ]
    )  # fmt: skip


async def _get_prompt(_: Any, params: Any) -> GetPromptResult | InputRequiredResult:
    arguments = params.arguments or {}
    inputs = {"user_context": elicit("What context should the prompt use?", context="string")}
    if params.name == "test_input_required_result_prompt" and not params.input_responses:
        return required_input(inputs)
    uri = arguments.get("resourceUri", "test://x")
    contents: dict[str, list[ContentBlock]] = {
        "test_simple_prompt": [text("This is a simple prompt for testing.")],
        "test_prompt_with_arguments": [
            text(f"Prompt with arguments: arg1='{arguments.get('arg1')}', arg2='{arguments.get('arg2')}'")
        ],
        "test_prompt_with_embedded_resource": [
            embedded(uri, "Embedded resource content for testing."),
            text("Please process the embedded resource above."),
        ],
        "test_prompt_with_image": [image(), text("Please analyze the image above.")],
        "test_input_required_result_prompt": [text("done")],
    }
    if params.name not in contents:
        raise MCPError(code=INVALID_PARAMS, message="There is no such prompt.")
    return GetPromptResult(
        messages=[PromptMessage(role="user", content=content) for content in contents[params.name]]
    )


async def _complete_city(_: Any, __: Any) -> CompleteResult:
    return CompleteResult(completion=Completion(values=["paris", "park"], has_more=False))


def build_fixture_server() -> Server[Any]:
    """Return the server. Our endpoint makes it reachable."""
    schemas = {**dict.fromkeys((*SIMPLE, *ASKING), OBJECT), **SCHEMAS}
    hint = CacheHint(ttl_ms=1000, scope="private")
    server: Server[Any] = Server(
        "fixture",
        version="1",
        cache_hints={"tools/list": hint, "prompts/list": hint, "resources/list": hint},
        get_tool_input_schema=schemas.get,
        on_list_tools=_list_tools,
        on_call_tool=_call_tool,
        on_list_resources=_list_resources,
        on_list_resource_templates=_list_templates,
        on_read_resource=_read_resource,
        on_list_prompts=_list_prompts,
        on_get_prompt=_get_prompt,
        on_completion=_complete_city,
        on_set_logging_level=_empty_result,
        on_subscribe_resource=_empty_result,
        on_unsubscribe_resource=_empty_result,
    )
    boundary = RequestStateBoundary(RequestStateSecurity.ephemeral(), default_audience="fixture")
    server.middleware.append(boundary)
    return server
