"""Agents, models and tools that do through the turn what they do inside one.

The closure of a tool made by `as_tool` holds the inner agent itself, and a handoff may return any
agent. So agents and models are opened in place, once, by methods of the same names on the objects:
outside of a turn these pass on, so that nothing else is changed.

A request to a model is streamed while it comes, recorded when it is whole. Calls of tools that the
provider ran itself are told and audited with it, and decided by nobody here. A call of a function
tool is a call of the turn: asked about first, run once, recorded whole. An agent as a tool is no
effect: its code runs on each entry, what it calls only once.
"""

import base64
import copy
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from typing import Any

from agents import (
    Agent,
    ApplyPatchTool,
    ComputerTool,
    CustomTool,
    FunctionTool,
    Handoff,
    HostedMCPTool,
    LocalShellTool,
    Model,
    ModelProvider,
    ModelResponse,
    RunHooks,
    ShellTool,
)
from agents.tool_context import ToolContext
from agents.usage import Usage
from openai.types.responses import ResponseOutputItem, ResponseUsage
from pydantic import TypeAdapter
from pydantic_core import from_json, to_json

from sayso import (
    ArgumentsMisfit,
    Call,
    DeclarationError,
    NotRecordable,
    Speak,
    Tool,
    ToolCall,
    Turn,
    parts,
)
from sayso.frameworks.openai_agents.outputs import returned
from sayso.frameworks.openai_agents.running import RunnerEntry, entered, running
from sayso.frameworks.openai_agents.toolbox import asked_for, inner_agent, is_part

Result = str | Sequence[parts.Part]


async def report_hosted(turn: Turn, output: Iterable[Any]) -> None:
    """Report the hosted calls of a model's answer, in order, each with what came of it."""
    for item in output:
        read = _READ.get(item.type)
        if read is not None:
            name, arguments, result, error = read(item)
            reported = await turn.report(name, arguments, told_as=item.id)
            await reported.result(result, error=error)


def _web(item: Any) -> tuple[str, dict[str, Any], Result, str | None]:
    return "web_search", _plain(item.action), item.status, _failed(item)


def _files(item: Any) -> tuple[str, dict[str, Any], Result, str | None]:
    passages = [_plain(result) for result in item.results or ()]
    result = to_json(passages).decode() if passages else item.status
    return "file_search", {"queries": item.queries}, result, _failed(item)


def _code(item: Any) -> tuple[str, dict[str, Any], Result, str | None]:
    made: list[parts.Part] = []
    for output in item.outputs or ():
        shown = output.logs if output.type == "logs" else None
        made.append(parts.image(url=output.url) if shown is None else parts.text(shown))
    return "code_interpreter", {"code": item.code or ""}, made or item.status, _failed(item)


def _image(item: Any) -> tuple[str, dict[str, Any], Result, str | None]:
    kind = getattr(item, "output_format", None) or "png"
    made: Result = item.status
    if item.result:
        data = base64.b64decode(item.result)
        made = [parts.image(data=data, mime_type=f"image/{kind}")]
    return "image_generation", {}, made, _failed(item)


def _server(item: Any) -> tuple[str, dict[str, Any], Result, str | None]:
    try:
        arguments = from_json(item.arguments or "{}")
    except ValueError:
        arguments = {"written": item.arguments}
    error = None if item.error is None else _why(item.error)
    return f"{item.server_label}.{item.name}", arguments, item.output or "", error


def _why(error: Any) -> str:
    """The words of an error of an MCP server, which older versions have as a text."""
    if isinstance(error, str):
        return error
    words = getattr(error, "message", None) or getattr(error, "content", "")
    return words if isinstance(words, str) else to_json(words).decode()


def _failed(item: Any) -> str | None:
    return f"status {item.status}" if item.status in ("failed", "incomplete") else None


def _plain(value: Any) -> dict[str, Any]:
    """A member of an answer as a JSON object."""
    if value is None:
        return {}
    plain = value if isinstance(value, dict) else value.model_dump(mode="json", exclude_none=True)
    return dict(plain)


_READ = {
    "web_search_call": _web,
    "file_search_call": _files,
    "code_interpreter_call": _code,
    "image_generation_call": _image,
    "mcp_call": _server,
}


_ITEMS: TypeAdapter[list[ResponseOutputItem]] = TypeAdapter(list[ResponseOutputItem])
_SAID = ("response.output_text.delta", "response.refusal.delta")
_THOUGHT = ("response.reasoning_text.delta", "response.reasoning_summary_text.delta")
_OUTPUT_SCHEMA = 4
"""Where `Model.get_response` takes the schema of the output."""


async def recorded(
    run: RunnerEntry, model: Model, args: tuple[Any, ...], more: dict[str, Any]
) -> ModelResponse:
    """Ask a model once in the life of the turn; returns its answer, and reports hosted calls."""
    schema = more.get("output_schema", args[_OUTPUT_SCHEMA] if len(args) > _OUTPUT_SCHEMA else None)
    plain = schema is None or schema.is_plain_text()

    async def ask(speak: Speak) -> dict[str, Any]:
        return await _listened(model.stream_response(*args, **more), speak, plain=plain)

    record = await run.turn.parked(run.turn.model(ask, name="model"))
    response = _restored(record)
    await run.turn.parked(report_hosted(run.turn, response.output))
    return response


async def _listened(stream: AsyncIterator[Any], speak: Speak, *, plain: bool) -> dict[str, Any]:
    """Say what a model says while it comes; returns the whole answer as JSON.

    Raises:
        RuntimeError: the stream ended before the answer did.
    """
    final: Any = None
    async for event in stream:
        if event.type in _SAID and plain:
            await speak.text(event.delta)
        elif event.type in _THOUGHT:
            await speak.think(event.delta)
        elif event.type == "response.completed":
            final = event.response
        elif event.type in ("response.failed", "response.incomplete"):
            raise RuntimeError(f"the model gave no whole answer: {_why_unfinished(event.response)}")
        elif event.type in ("error", "response.error"):
            raise RuntimeError(f"the model failed: {event.message}")
    if final is None:
        raise RuntimeError("the model's answer broke off")
    usage = None
    if final.usage is not None:
        usage = final.usage.model_dump(mode="json")
        counts = {
            "input_tokens": final.usage.input_tokens,
            "output_tokens": final.usage.output_tokens,
            "cached_input_tokens": getattr(final.usage.input_tokens_details, "cached_tokens", None),
            "reasoning_tokens": getattr(
                final.usage.output_tokens_details, "reasoning_tokens", None
            ),
        }
        speak.usage(None, str(final.model), **counts)
    return {
        "output": [item.model_dump(mode="json", exclude_unset=True) for item in final.output],
        "id": final.id,
        "usage": usage,
    }


def _restored(record: dict[str, Any]) -> ModelResponse:
    usage = Usage(requests=1)
    if record["usage"] is not None:
        counts = ResponseUsage.model_validate(record["usage"])
        usage = Usage(
            requests=1,
            input_tokens=counts.input_tokens,
            output_tokens=counts.output_tokens,
            total_tokens=counts.total_tokens,
            input_tokens_details=counts.input_tokens_details,
            output_tokens_details=counts.output_tokens_details,
        )
    return ModelResponse(
        output=_ITEMS.validate_python(record["output"]), usage=usage, response_id=record["id"]
    )


def _why_unfinished(response: Any) -> str:
    if response.error is not None:
        return str(response.error.message)
    details = response.incomplete_details
    return str(details.reason if details is not None and details.reason else response.status)


def through_turn(function: FunctionTool) -> FunctionTool:
    """The same tool for one run inside a turn, which makes its calls.

    The SDK neither asks nor counts the time: a call may wait for a person, for days.
    """

    async def invoke(context: ToolContext[Any], written: str) -> Any:
        run = running()
        if run is None:
            return await function.on_invoke_tool(context, written)
        return await _call(run, function, context, written)

    tool = copy.copy(function)
    tool.on_invoke_tool = invoke
    tool.needs_approval = False
    tool.timeout_seconds = None
    return tool


async def _call(
    run: RunnerEntry, function: FunctionTool, context: ToolContext[Any], written: str
) -> Any:
    """Make the call; returns what the SDK gets: its result, or how it ended instead."""
    arguments = _read(written)
    if arguments is None:
        return "Not called: the arguments are no JSON object."
    tool = run.functions.tool(function)
    run.turn.add_tools(tool)
    if callable(function.needs_approval):
        asked_for.set(await function.needs_approval(context, arguments, context.tool_call_id))

    async def effect(values: Mapping[str, Any]) -> Any:
        with entered(None):
            return await _invoke(function, context, values)

    async def part(turn: Turn, values: Mapping[str, Any]) -> Any:
        async def inner(inner_turn: Turn) -> Any:
            with entered(RunnerEntry(inner_turn, run.functions)):
                return await _invoke(function, context, values)

        return await turn.delegate(inner, name=inner_agent(function).name)

    body = part if is_part(function) else effect
    call = ToolCall(tool, arguments, call=body, told_as=context.tool_call_id)
    try:
        outcome: Call[Any] = await run.turn.parked(run.turn.call(call))
    except (ArgumentsMisfit, NotRecordable) as misfit:  # nothing was sent
        return f"Not called: {misfit}"
    if not outcome.executed or outcome.value is None:
        return outcome.text
    return _with_edit(outcome, tool) if outcome.edited else outcome.value


async def _invoke(
    function: FunctionTool, context: ToolContext[Any], values: Mapping[str, Any]
) -> Any:
    written = to_json(dict(values)).decode()
    context.tool_arguments = written
    value = await function.on_invoke_tool(context, written)
    return returned(value, typed=function.output_json_schema is not None)


def _with_edit(outcome: Call[Any], tool: Tool[..., Any]) -> Any:
    """The result of a call whose arguments a person changed: the model hears what ran."""
    if isinstance(outcome.value, str):
        return outcome.text
    if not isinstance(outcome.value, list):
        return outcome.value
    ran = to_json(tool.shown(outcome.args)).decode()
    said = f"A reviewer changed the arguments; the call ran with {ran}. Result:"
    return [{"type": "text", "text": said}, *outcome.value]


def _read(written: str) -> dict[str, Any] | None:
    """The arguments as a model wrote them; None for what is no JSON object."""
    try:
        arguments = from_json(written or "{}", allow_inf_nan=False)
    except ValueError:
        return None
    return arguments if isinstance(arguments, dict) else None


_OPENED = "_sayso_opened"


def opened(agent: Agent[Any]) -> None:
    """Let an agent, those that it hands off to and those that its tools run be the turn's."""
    if isinstance(agent.model, Model):
        open_model(agent.model)
    if _OPENED in vars(agent):
        return
    setattr(agent, _OPENED, True)
    list_tools = agent.get_all_tools

    async def get_all_tools(run_context: Any) -> Any:
        tools = await list_tools(run_context)
        run = running()
        if run is None:
            return tools
        check_tools(agent.name, tools)
        return [through_turn(tool) if isinstance(tool, FunctionTool) else tool for tool in tools]

    agent.get_all_tools = get_all_tools
    for each in neighbours(agent):
        opened(each)


def open_model(model: Model) -> Model:
    """Let a model be asked through the turn inside one; returns it."""
    if _OPENED not in vars(model):
        setattr(model, _OPENED, True)
        ask = model.get_response

        async def get_response(*args: Any, **more: Any) -> Any:
            run = running()
            if run is None:
                return await ask(*args, **more)
            return await recorded(run, model, args, more)

        model.get_response = get_response
    return model


def neighbours(agent: Agent[Any]) -> Iterable[Agent[Any]]:
    """The agents that an agent hands off to, and those that its tools run, as far as it is known.

    One that only a run knows is opened when it begins (`Opening`).
    """
    for handoff in agent.handoffs:
        target: object = handoff
        if isinstance(handoff, Handoff):
            target = None if handoff._agent_ref is None else handoff._agent_ref()
        if isinstance(target, Agent):
            yield target
    for tool in agent.tools:
        inner = inner_agent(tool) if isinstance(tool, FunctionTool) else None
        if isinstance(inner, Agent):
            yield inner


def check_tools(name: str, tools: Iterable[Any]) -> None:
    """Refuse tools that run on this machine, or ask, where no turn can record it.

    Raises:
        DeclarationError: there is one.
    """
    for tool in tools:
        shell = isinstance(tool, ShellTool) and tool.executor is not None
        if shell or isinstance(tool, ApplyPatchTool | ComputerTool | CustomTool | LocalShellTool):
            raise DeclarationError(
                f"agent {name!r} has the tool {tool.name!r}, which runs here and cannot be "
                "recorded: make it a function tool"
            )
        if isinstance(tool, HostedMCPTool):
            asks = tool.tool_config.get("require_approval")
            if asks != "never":
                raise DeclarationError(
                    f"agent {name!r} has a hosted MCP server that asks for approvals of its own: "
                    'give it require_approval "never", or add the server to the app by '
                    "sayso.mcp, whose tools ask here"
                )


class Opening(RunHooks[Any]):
    """Opens agents that only a run knows, as they begin."""

    async def on_agent_start(self, context: Any, agent: Any) -> None:
        """Open the agent."""
        if isinstance(agent, Agent):
            opened(agent)


class TurnProvider(ModelProvider):
    """The models of a provider, asked through the turn."""

    def __init__(self, provider: ModelProvider) -> None:
        self._provider = provider

    def get_model(self, model_name: str | None) -> Model:
        """The provider's model, opened."""
        return open_model(self._provider.get_model(model_name))
