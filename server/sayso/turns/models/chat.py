"""A model that calls tools in a loop: it is asked, its calls are made, it hears what came of them.

Calls of one reply are one batch: free ones run, gated ones ask, those of the client's own tools are
left to it, all in one outcome. What cannot be called is told to the model, and costs the others
nothing. Nothing of this is recorded but replies and calls, each for itself.
"""

import logging
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from pydantic import ValidationError

from sayso.agents.outcomes import Call, ToolCall
from sayso.agents.providers.exchange import (
    ModelRequest,
    OfferedTool,
    Provider,
    Reply,
    RequestedCall,
    Round,
)
from sayso.agents.tools import Tool
from sayso.base import jsonvalue
from sayso.base.errors import DeclarationError, ModelFailed, NotRecordable, StepFailed
from sayso.base.redaction import NOT_SHOWN
from sayso.schemas.errors import SchemaViolation
from sayso.schemas.schema import compile_schema
from sayso.schemas.subschemas import strip_keywords
from sayso.turns.calls.batch import tool_of
from sayso.turns.calls.client_tools import call_client_tool
from sayso.turns.models.clients import provider_of
from sayso.turns.models.model import Speak, ask_model
from sayso.turns.replay.execution import Execution

_log = logging.getLogger("sayso.model")

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_MAX_SHOWN = 5
"""Problems of arguments that a model is told at once."""
_MAX_WRITTEN = 200
STOPPED = "I stop here: this takes too many rounds."
_LAST_ROUND = (
    "(No further tool calls are possible in this turn. Answer now, with what you know, and say "
    "what is left to do.)"
)

History = (
    Sequence[Mapping[str, Any]]
    | Callable[[Sequence[Mapping[str, Any]]], Sequence[Mapping[str, Any]]]
)
"""Messages as AG-UI has them, or a function that trims those of the thread."""


@dataclass(frozen=True, slots=True)
class ChatTerms:
    """The arguments of `turn.chat` that stay the same in all its rounds."""

    model: str
    system: str | None
    messages: History | None
    front_end: bool
    echo_reasoning: bool
    settings: Mapping[str, Any]


class Chat:
    """One `turn.chat`: what it was given, and the rounds so far."""

    def __init__(
        self,
        execution: Execution,
        turn: Any,
        client: Any,
        tools: Sequence[Tool[..., Any] | str],
        terms: ChatTerms,
    ) -> None:
        if not terms.model:
            raise DeclarationError("model= of turn.chat is the name of one, and not empty")
        self._execution, self._turn, self._terms = execution, turn, terms
        self._provider: Provider = provider_of(client)
        self._tools = _by_name(tool_of(execution, tool, execution.running.tools) for tool in tools)
        offered = turn.input.tools if terms.front_end else ()
        self._front_end = _offered_by_client(offered, self._tools)
        self._rounds: list[Round] = []

    async def run(self, rounds: int) -> str:
        """Ask and call until the model calls nothing more; returns its last words."""
        for _ in range(rounds):
            reply = await self._ask()
            if not reply.calls:
                return reply.text
            self._rounds.append(Round(reply, tuple(await self._call(reply.calls))))
        reply = await self._ask(_LAST_ROUND)
        if not reply.calls:
            return reply.text
        await self._turn.say(STOPPED)
        return STOPPED

    async def _ask(self, notice: str | None = None) -> Reply:
        rounds = tuple(self._rounds)
        await self._execution.kept_apart.prepare(self._execution.leased, self._tools.values())

        async def ask(speak: Speak) -> Reply:
            reply = await self._provider.reply(self._request(rounds, notice), speak)
            return replace(reply, calls=tuple(map(self._apart, reply.calls)))

        try:
            reply: Reply = await ask_model(
                self._execution, ask, f"model {self._terms.model}", Reply
            )
        except StepFailed as failed:
            if failed.error_type == "ProviderError":
                raise ModelFailed(self._terms.model, failed.message) from None
            raise
        return reply

    def _apart(self, call: RequestedCall) -> RequestedCall:
        """A call as it is recorded, and as the model hears of it: without its secrets."""
        tool, kept_apart = self._tools.get(call.name), self._execution.kept_apart
        if not kept_apart.sealed or call.name in self._front_end:
            return call
        if tool is None:  # the name of one that has secrets may be misspelt
            secret = any(own.has_secrets for own in self._tools.values())
            return replace(call, arguments=NOT_SHOWN) if secret else call
        if not tool.has_secrets:
            return call
        arguments = call.object()
        if arguments is None:  # whatever a part of it was meant to be
            return replace(call, arguments=NOT_SHOWN)
        written = kept_apart.apart(tool, jsonvalue.encode(_without_unknown(tool, arguments)))
        return replace(call, arguments=written.decode())

    def _whole(self, tool: Tool[..., Any], arguments: dict[str, Any]) -> dict[str, Any]:
        """The arguments of a recorded call, as the model wrote them."""
        whole = self._execution.kept_apart.whole(tool, jsonvalue.encode(arguments))
        decoded: dict[str, Any] = jsonvalue.decode(whole)
        return decoded

    def _request(self, rounds: Sequence[Round], notice: str | None) -> ModelRequest:
        """The request, made where it is sent: a replay reads no history for it."""
        messages = self._terms.messages
        if messages is None:
            messages = self._turn.input.messages
        elif callable(messages):
            messages = messages(self._turn.input.messages)
        return ModelRequest(
            model=self._terms.model,
            system=self._terms.system,
            messages=tuple(messages),
            rounds=rounds,
            tools=self._offers(),
            settings=self._terms.settings,
            notice=notice,
            echo_reasoning=self._terms.echo_reasoning,
        )

    def _offers(self) -> list[OfferedTool]:
        own = [
            OfferedTool(
                name, tool.description, strip_keywords(tool.parameters, "additionalProperties")
            )
            for name, tool in self._tools.items()
        ]
        theirs = [
            OfferedTool(name, str(tool.get("description") or ""), _schema(tool.get("parameters")))
            for name, tool in self._front_end.items()
        ]
        return own + theirs

    async def _call(self, requested: Sequence[RequestedCall]) -> list[Any]:
        """Make the calls of one reply side by side; returns their results, in the model's order."""
        results: list[Any] = [None] * len(requested)
        made: list[tuple[int, ToolCall]] = []
        left: list[tuple[int, RequestedCall, dict[str, Any]]] = []
        for position, call in enumerate(requested):
            arguments = call.object()
            if call.name not in self._tools and call.name not in self._front_end:
                names = ", ".join((*self._tools, *self._front_end)) or "none"
                results[position] = (
                    f"Not called: there is no tool {call.name!r}. There are: {names}."
                )
            elif arguments is None:
                results[position] = _not_an_object(call)
            elif (tool := self._tools.get(call.name)) is None:
                left.append((position, call, arguments))
            elif (misfit := _misfit(tool, whole := self._whole(tool, arguments))) is not None:
                results[position] = misfit
            else:
                made.append((position, ToolCall(tool, whole, told_as=call.id or None)))
        for position, outcome in await self._outcomes(made, left):
            results[position] = _told(outcome)
        return results

    async def _outcomes(
        self,
        made: Sequence[tuple[int, ToolCall]],
        left: Sequence[tuple[int, RequestedCall, dict[str, Any]]],
    ) -> list[tuple[int, Call[Any]]]:
        works: list[Awaitable[list[Call[Any]]]] = []
        if made:
            works.append(self._turn.call_all([call for _, call in made]))
        works += [partial(self._leave, call.name, arguments)() for _, call, arguments in left]
        if not works:
            return []
        groups = [await works[0]] if len(works) == 1 else await self._turn.gather(*works)
        positions = [*(position for position, _ in made), *(position for position, _, _ in left)]
        outcomes = [outcome for group in groups for outcome in group]
        return list(zip(positions, outcomes, strict=True))

    async def _leave(self, name: str, arguments: dict[str, Any]) -> list[Call[Any]]:
        """Leave a call to the client, whose tool it is."""
        return [await call_client_tool(self._execution, name, arguments, Any, {"again": True})]


def _by_name(tools: Any) -> dict[str, Tool[..., Any]]:
    """The tools by name.

    Raises:
        DeclarationError: a name that no provider takes, or that two of them have.
    """
    named: dict[str, Tool[..., Any]] = {}
    for tool in tools:
        if _NAME.fullmatch(tool.name) is None:
            raise DeclarationError(
                f"tool {tool.name!r} cannot be offered to a model: a name has up to 64 letters, "
                "digits, _ and -; give it another name="
            )
        if named.setdefault(tool.name, tool) is not tool:
            raise DeclarationError(f"turn.chat is given two tools named {tool.name!r}")
    return named


def _offered_by_client(
    tools: Sequence[Mapping[str, Any]], own: Mapping[str, Any]
) -> dict[str, Mapping[str, Any]]:
    """The client's own tools by name, but for those that hide a tool of the server."""
    offered = {}
    for tool in tools:
        name = tool["name"]
        if name in own:
            _log.warning(
                "a tool of the page is named %r, as one of the server: it is not offered", name
            )
        elif _NAME.fullmatch(name) is None:
            _log.warning("a tool of the page has a name that no model takes: it is not offered")
        else:
            offered[name] = tool
    return offered


def _schema(parameters: Any) -> dict[str, Any]:
    """Parameters of a client's tool, which may have none."""
    if not isinstance(parameters, Mapping) or not parameters:
        return {"type": "object", "properties": {}}
    return dict(parameters)


def _without_unknown(tool: Tool[..., Any], arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments without the values of those that a tool does not take: of a misspelt name.

    Only what is refused whatever its value is: the call is not made, and the model is told so.
    """
    parameters = tool.parameters
    if parameters.get("additionalProperties") is not False:
        return arguments
    named = {
        "properties": {name: {} for name in parameters.get("properties", ())},
        "patternProperties": {pattern: {} for pattern in parameters.get("patternProperties", ())},
        "additionalProperties": False,
    }
    takes = compile_schema(named).is_valid
    return {name: arguments[name] if takes({name: None}) else NOT_SHOWN for name in arguments}


def _not_an_object(call: RequestedCall) -> str:
    written = call.arguments[:_MAX_WRITTEN] + ("…" if len(call.arguments) > _MAX_WRITTEN else "")
    return f"Not called: the arguments are no JSON object. You wrote: {written}"


def _misfit(tool: Tool[..., Any], arguments: dict[str, Any]) -> str | None:
    """Why arguments do not fit a tool, as a model is told; None if they do."""
    try:
        lacking = tool.missing(arguments) if tool.complete else ()
        if not lacking:
            tool.arguments(arguments)
            return None
        # A person is asked for what is left out; the rest has to fit all the same.
        absent = {jsonvalue.pointer((name,)) for name in lacking}
        faults = [f for f in tool.argument_errors(arguments) if f.pointer not in absent]
        return _faults(faults) if faults else None
    except ValidationError:
        return _faults(tool.argument_errors(arguments))
    except (NotRecordable, ValueError) as error:
        return f"Not called: {error}"


def _faults(faults: Sequence[SchemaViolation]) -> str:
    shown = "; ".join(f"{f.pointer or 'the arguments'}: {f.message}" for f in faults[:_MAX_SHOWN])
    more = "; and more" if len(faults) > _MAX_SHOWN else ""
    return f"Not called: the arguments do not fit. {shown}{more}"


def _told(outcome: Call[Any]) -> Any:
    """The result as a model gets it: its text, and parts that are none behind it."""
    media = [part for part in outcome.parts if part.get("type") != "text"]
    if not media:
        return str(outcome)
    return [*([{"type": "text", "text": outcome.text}] if outcome.text else []), *media]
