"""Answers pages that ask what their user could say next: no thread, run or audit row is made.

Without `suggest=` the answer is an empty run. With it, the author's function runs for at most
`TIMEOUT_S` seconds while somebody reads; what goes wrong in it is logged, and the run stays empty.

CopilotKit's `useConfigureSuggestions` sends the request as an ordinary run of the agent, on a
thread that it makes up, with the conversation copied in and one tool whose use it forces. It wants
the arguments of a call of that tool and nothing else; running the agent for it would act before
anybody had spoken.
"""

import asyncio
import logging
from collections.abc import Sequence
from typing import Any, Final

from sayso.agents.registry import Agent
from sayso.agents.suggestions import Suggest, Suggestion, SuggestionRequest
from sayso.base import ids, jsonvalue
from sayso.base.logs import log_context
from sayso.base.records import Principal
from sayso.engine.quotas import Quotas
from sayso.protocol.client_profile import ClientProfile
from sayso.protocol.runinput import RunInput
from sayso.streams.ending import Ending
from sayso.streams.reader import Reader
from sayso.streams.stream import RunStream
from sayso.turns.services import Services

_log = logging.getLogger("sayso.engine.suggestions")

TOOL: Final = "copilotkitSuggest"
"""The tool whose call carries the suggestions."""

_FORCED: Final = {"type": "function", "function": {"name": TOOL}}

TIMEOUT_S = 20.0
"""Seconds that an author's function may take."""
MAX_ANSWER_BYTES = 64 * 1024
"""Bytes of suggestions that one request gets."""


def asks_for_suggestions(request: RunInput) -> bool:
    """True if a run wants suggestions: that one tool, its use forced, and no answer."""
    props = request.forwarded_props
    return (
        len(request.tools) == 1
        and request.tools[0]["name"] == TOOL
        and isinstance(props, dict)
        and props.get("toolChoice") == _FORCED
        and not request.resume
        and request.command is None
    )


class Suggestions:
    """The requests for suggestions that this process is answering."""

    def __init__(self, services: Services, quotas: Quotas) -> None:
        self._limits = services.limits
        self._quotas = quotas
        self._tasks: set[asyncio.Task[None]] = set()

    def answer(
        self, agent: Agent, request: RunInput, principal: Principal, peer: ClientProfile
    ) -> Reader:
        """A run with one call that carries the suggestions, or with nothing.

        Raises:
            Problem: `too_many`, the author's function would run beside too many runs.
        """
        stream = RunStream(request.thread_id, "", unread=self._limits.unread)
        reader = stream.attach(request.run_id, peer, messages=None, state=None)
        reader.run_key = None  # no stored run stands behind it
        if agent.suggest is None:
            stream.finish(Ending(type="success"))
            return reader
        seat = self._quotas.run(principal)
        work = self._answered(stream, agent.name, agent.suggest, request, principal)
        task = asyncio.create_task(work, name=f"suggestions of agent {agent.name!r}")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(lambda _: seat.leave())

        def given_up() -> None:
            task.cancel()

        stream.on_readers = given_up  # pages give up often, and nobody else would hear it
        return reader

    async def close(self) -> None:
        """Give up what is going on; idempotent."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _answered(
        self,
        stream: RunStream,
        name: str,
        suggest: Suggest,
        request: RunInput,
        principal: Principal,
    ) -> None:
        pending: tuple[str, ...] = ()
        try:
            with log_context(agent=name):
                if ideas := await _ideas(suggest, request, principal):
                    call = ids.new("call")
                    stream.emit(
                        {
                            "type": "TOOL_CALL_START",
                            "toolCallId": call,
                            "toolCallName": TOOL,
                            "parentMessageId": ids.new("msg"),
                        }
                    )
                    stream.emit({"type": "TOOL_CALL_ARGS", "toolCallId": call, "delta": ideas})
                    stream.emit({"type": "TOOL_CALL_END", "toolCallId": call})
                    pending = (call,)
        finally:
            stream.finish(Ending(type="success", pending=pending))


async def _ideas(suggest: Suggest, request: RunInput, principal: Principal) -> str:
    """The arguments of the call, or empty; errors of the author's code are logged, not raised."""

    async def thought() -> str:
        suggestions = await suggest(_asked_of(request, principal))
        arguments = _arguments(suggestions) if suggestions else ""
        if len(arguments) > MAX_ANSWER_BYTES:
            raise ValueError(
                f"the suggestions have {len(arguments)} bytes; give at most {MAX_ANSWER_BYTES}"
            )
        return arguments

    task = asyncio.create_task(thought())
    try:
        await asyncio.wait((task,), timeout=TIMEOUT_S)
    finally:
        task.cancel()  # not awaited: code that does not end keeps nobody waiting
    if not task.done():
        _log.error("suggest= took longer than %g s and was given up", TIMEOUT_S)
    elif task.cancelled():
        _log.error("suggest= was cancelled by its own code")
    elif (error := task.exception()) is not None:
        _log.error("suggest= failed", exc_info=error)
    else:
        return task.result()
    return ""


def _asked_of(request: RunInput, principal: Principal) -> SuggestionRequest:
    """The request as the author sees it; its last user message is the page's instructions."""
    messages: list[dict[str, Any]] = [
        jsonvalue.decode(message.body) for message in request.messages
    ]
    instructions = ""
    if messages and messages[-1]["role"] == "user":
        instructions = request.user_text
        messages.pop()
    return SuggestionRequest(
        messages=tuple(messages),
        state={} if request.state is None else request.state,
        context=request.context,
        instructions=instructions,
        principal=principal,
    )


def _arguments(suggestions: Sequence[Suggestion]) -> str:
    """The arguments of the call that carries them.

    Raises:
        TypeError: for anything but `Suggestion`s.
    """
    for suggestion in suggestions:
        if not isinstance(suggestion, Suggestion):
            raise TypeError(
                f"suggest= gives a list of Suggestion, not of {type(suggestion).__name__}"
            )
    listed = [
        {"title": suggestion.title, "message": suggestion.message} for suggestion in suggestions
    ]
    return jsonvalue.encode({"suggestions": listed}).decode()
