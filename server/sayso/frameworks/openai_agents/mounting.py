"""Serving an agent of the OpenAI Agents SDK: `mount(app, "support", agent)`.

The thread's messages go in as input items of the SDK, each call with its result behind it.
"""

import inspect
import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Any

from agents import Agent, FunctionTool, MessageOutputItem, ModelProvider, RunConfig, Runner
from agents.models.multi_provider import MultiProvider
from pydantic_core import to_jsonable_python

from sayso import DeclarationError, Sayso, Tool, Turn, approval
from sayso.frameworks.openai_agents.opening import (
    Opening,
    TurnProvider,
    check_tools,
    neighbours,
    opened,
)
from sayso.frameworks.openai_agents.running import RunnerEntry, entered
from sayso.frameworks.openai_agents.toolbox import FunctionTools
from sayso.frameworks.policies import Policies, check_names, check_policies

Message = Mapping[str, Any]
Item = dict[str, Any]

_UNANSWERED = "Unanswered: nobody said what came of this call."


def items_of(messages: Sequence[Message]) -> list[Any]:
    """The history as a model of the SDK takes it; what a model thought is left out."""
    results = {m["toolCallId"]: m["content"] for m in messages if m["role"] == "tool"}
    return [item for message in messages for item in _items(message, results)]


def _items(message: Message, results: Mapping[str, Any]) -> Iterator[Item]:
    role, content = message["role"], message.get("content")
    if role in ("system", "developer", "assistant") and content:
        yield {"role": role, "content": content}
    elif role == "user":
        yield {"role": role, "content": _content(content or "")}
    if role != "assistant":
        return
    for call in message.get("toolCalls") or ():
        function = call["function"]
        named = {"name": function["name"], "arguments": function["arguments"]}
        yield {"type": "function_call", "call_id": call["id"], **named}
        output = _content(results.get(call["id"], _UNANSWERED))
        yield {"type": "function_call_output", "call_id": call["id"], "output": output}


def _content(content: str | Sequence[Message]) -> str | list[Item]:
    return content if isinstance(content, str) else [_part(part) for part in content]


def _part(part: Message) -> Item:
    if part["type"] == "text":
        return {"type": "input_text", "text": part["text"]}
    source = part.get("source") or {}
    value, is_data = source.get("value"), source.get("type") == "data"
    data = f"data:{source.get('mimeType') or 'application/octet-stream'};base64,{value}"
    if part["type"] == "image" and value:
        return {"type": "input_image", "image_url": data if is_data else value, "detail": "auto"}
    if part["type"] == "document" and value:
        name = (part.get("metadata") or {}).get("filename") or "document"
        file = {"filename": name, "file_data": data} if is_data else {"file_url": value}
        return {"type": "input_file", **file}
    words = f"[{part['type']}]" if is_data or not value else f"[{part['type']}: {value}]"
    return {"type": "input_text", "text": words}


_log = logging.getLogger("sayso.openai_agents")


def mount(
    app: Sayso,
    name: str,
    agent: Agent[Any],
    *,
    approve: Mapping[str, approval.Policy] | None = None,
    context: Callable[[Turn], Any] | None = None,
    provider: ModelProvider | None = None,
    max_turns: int = 20,
    **options: Any,
) -> Callable[[Turn], Awaitable[Any]]:
    """Serve an agent of the OpenAI Agents SDK, as it is, as `POST /agents/{name}`.

    - `approve`: policies by the name of a tool, or by a pattern such as `delete_*`. They stand in
      place of what the tool says of itself (`needs_approval`), and hold for all agents that this
      one hands off to or runs as tools.
    - `context`: makes the SDK's context of the turn; it may be async, and runs on each entry.
    - `provider`: makes models of their names, by default the SDK's own.
    - `max_turns`: how often models may be asked before the turn fails.
    - `options`: those of `app.agent`.

    Raises:
        DeclarationError: a name in `approve` that no tool has, a tool that cannot be recorded, or a
            session, in whose place the thread stands.
    """
    if "session" in options:
        raise DeclarationError(
            f"agent {name!r} is mounted with a session: the thread is the session, leave it out"
        )
    if not isinstance(agent, Agent):
        raise DeclarationError(f"mount takes an Agent of the Agents SDK, not {agent!r}")
    approve = dict(approve or {})
    agents = _all(agent)
    present = {tool.name for each in agents for tool in each.tools}
    more = any(each.mcp_servers for each in agents)
    check_policies(name, approve)
    check_names(name, approve, present, more=more, log=_log)
    functions = FunctionTools(Policies(approve))
    served: dict[str, Tool[..., Any]] = {}
    for each in agents:
        check_tools(each.name, each.tools)
        for tool in each.tools:
            if isinstance(tool, FunctionTool):
                served[tool.name] = functions.declare(tool)
    app.add_tools(*served.values(), agent=name)
    opened(agent)
    config = RunConfig(
        model_provider=TurnProvider(provider or MultiProvider()),
        tracing_disabled=True,
        tool_not_found_behavior="return_error_to_model",
    )

    async def run(turn: Turn) -> Any:
        made = None if context is None else context(turn)
        if inspect.isawaitable(made):
            made = await made
        with entered(RunnerEntry(turn, functions)):
            result = await Runner.run(
                agent,
                items_of(turn.input.messages),
                context=made,
                max_turns=max_turns,
                hooks=Opening(),
                run_config=config,
            )
        if result.interruptions:
            names = ", ".join(sorted({str(item.name) for item in result.interruptions}))
            raise RuntimeError(f"the SDK asks for approvals that no turn can put: {names}")
        final = result.final_output
        if not isinstance(final, str):
            return to_jsonable_python(final)
        if not (result.new_items and isinstance(result.new_items[-1], MessageOutputItem)):
            await turn.say(final)  # a tool's result ended the run: nobody has said it yet
        return None

    description = agent.handoff_description or ""
    app.agent(name, **{"kind": "openai-agents", "description": description, **options})(run)
    return run


def _all(agent: Agent[Any]) -> list[Agent[Any]]:
    """An agent with all that it hands off to or runs, as far as it is known."""
    agents = [agent]
    for each in agents:
        agents += [other for other in neighbours(each) if all(other is not a for a in agents)]
    return agents
