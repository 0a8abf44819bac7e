"""The engine under agents that are streams of AG-UI: one run of the agent is a round of the turn.

A round is noted durably before it begins. What it says is shown as it comes; calls that it leaves
open are made here, or by the page; what it asks is asked. Results and answers begin the next one.
Each is begun once: one that was begun and not seen to end is unsure, and a person is asked.
"""

import asyncio
import logging
from asyncio import sleep
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from pydantic import ValidationError
from pydantic_core import to_json

from sayso import (
    AgentFailed,
    ArgumentsMisfit,
    Decision,
    DidNotHappen,
    Happened,
    NotRecordable,
    Option,
    ReportedCall,
    Tool,
    ToolCall,
    ToolNotOffered,
    Turn,
)
from sayso.client.chunks import Chunks
from sayso.client.errors import ProtocolViolation
from sayso.client.events import read_event
from sayso.client.order import BodyOrder
from sayso.client.stream import PROTOCOL
from sayso.client.thread import ThreadState
from sayso.frameworks.agui.asking import Policies, SettledRound, ask
from sayso.frameworks.agui.log import KeptThread, RoundEnd, RoundLog, digest, plain
from sayso.frameworks.agui.showing import ON_INTERRUPT, Showing, arguments_of, namespaced
from sayso.frameworks.agui.source import Json, NothingBegan, RunBroke, Source

Tools = Mapping[str, Tool[..., Any]]


class OpenCalls:
    """Makes them in a turn; `mirror` is the agent's own thread, `tools` are the mount's."""

    def __init__(self, turn: Turn, mirror: ThreadState, tools: Tools) -> None:
        self._turn, self._mirror, self._tools = turn, mirror, tools
        page = turn.input.tools
        self._of_page = {tool["name"]: tool for tool in page if tool["name"] not in tools}

    def offered(self) -> list[Json]:
        """The tools that the agent is told of."""
        own = [
            {"name": name, "description": tool.description, "parameters": tool.parameters}
            for name, tool in self._tools.items()
        ]
        return [*own, *map(plain, self._of_page.values())]

    def may_be_left(self, name: str) -> bool:
        """True for a call that may be left to this turn: it is told of once that is clear."""
        return name in self._tools or name in self._of_page

    async def make(self, left: Sequence[str], number: int) -> list[Json]:
        """Make those of a round; returns their results as messages for the agent."""
        calls = [call for each in left if (call := self._mirror.call(each)) is not None]
        results: dict[str, str] = {}
        made: list[tuple[str, ToolCall]] = []
        works: list[Awaitable[Any]] = []
        for call in calls:
            name, arguments = call["function"]["name"], arguments_of(call)
            tool = self._tools.get(name)
            if tool is not None:
                misfit = _misfit(tool, arguments)
                if misfit is None:
                    made.append((call["id"], ToolCall(tool, arguments, told_as=call["id"])))
                else:
                    results[call["id"]] = misfit
            elif name in self._of_page:
                key = f"page:{number}:{call['id']}"
                works.append(self._leave(key, call["id"], name, arguments, results))
            else:
                results[call["id"]] = f"Not called: there is no tool {name!r} here."
        if made:
            works.append(self._call(f"calls:{number}", made, results))
        if works:
            await self._turn.gather(*works)
        return [
            {
                "id": f"{call['id']}-result",
                "role": "tool",
                "toolCallId": call["id"],
                "content": results[call["id"]],
            }
            for call in calls
        ]

    async def _call(
        self, key: str, made: Sequence[tuple[str, ToolCall]], results: dict[str, str]
    ) -> None:
        async with self._turn.at(key):
            outcomes = await self._turn.call_all([call for _, call in made])
        results.update((name, str(o)) for (name, _), o in zip(made, outcomes, strict=True))

    async def _leave(
        self, key: str, call: str, name: str, arguments: Json, results: dict[str, str]
    ) -> None:
        async with self._turn.at(key):
            try:
                results[call] = str(await self._turn.client_tool(name, arguments, again=True))
            except ToolNotOffered as error:
                results[call] = f"Not called: {error}"


def _misfit(tool: Tool[..., Any], arguments: Json) -> str | None:
    """Why arguments do not fit a tool, as the agent is told; None if they do."""
    if tool.complete and (lacking := tool.missing(arguments)):
        # A person is asked for what is left out; the rest has to fit all the same.
        faults = tool.argument_errors(arguments)
        wrong = [f.message for f in faults if f.pointer.lstrip("/") not in lacking]
        return f"Not called: the arguments do not fit. {'; '.join(wrong)}" if wrong else None
    try:
        tool.arguments(arguments)
    except (ArgumentsMisfit, NotRecordable, ValidationError) as error:
        return f"Not called: the arguments do not fit. {error}"
    return None


_log = logging.getLogger("sayso.agui")

MAX_ROUNDS: Final = 40
TRIES: Final = 3
"""How often a round begins in an execution that may begin again by itself."""
_GOES_ON: Final = ("lease_lost", "reader_too_slow", "shutting_down", "store_unavailable")
"""Codes by which a Sayso server says that it tells no more of a run, which has not ended."""
_BUSY: Final = "thread_busy"
"""Its code for a thread whose run it still ends, as one that was just stopped."""
_SUCCESS: Final[Json] = {"type": "success"}
_MAX_SHOWN: Final = 200
"""Characters of what an unsure round was told."""

Verify = Callable[[Json], Awaitable[Happened | DidNotHappen]]
"""Looks whether a run that was asked for has happened; its value is the outcome of the run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedAgent:
    """An agent that is a stream of events, and how it is served."""

    name: str
    source: Source
    tools: Mapping[str, Tool[..., Any]] = field(default_factory=dict)
    approve: Policies = field(default_factory=dict)
    headers: Callable[[Turn], Any] | None = None
    again: bool = False
    verify: Verify | None = None
    raw: bool = False


class _Lost(Exception):
    """A run whose end was not seen; the text says why.

    `busy`: it was not begun, since the agent does another one of this thread.
    """

    def __init__(self, text: str, *, busy: bool = False) -> None:
        super().__init__(text)
        self.busy = busy


class Rounds:
    """The rounds of one turn, or of one part of it: `part` is what that is called."""

    def __init__(self, turn: Turn, served: ServedAgent, part: str = "") -> None:
        self._turn, self._served, self._part = turn, served, part
        self._name = f"agui:{served.name}"
        self._kept = KeptThread.of(turn, self._name)
        self._mirror = ThreadState()
        self._mirror.messages = self._kept.messages
        self._thread = "t-" + digest(turn.principal.scope, turn.input.thread_id, served.name)
        self._number = 0
        self._asked_as = self._thread
        self._asked: set[str] = set()
        self._decisions: dict[tuple[int, int], Decision] = {}
        self._reported: dict[str, ReportedCall | None] = {}
        self._open_calls = OpenCalls(turn, self._mirror, served.tools)

    async def go(self, message: Json) -> Any:
        """Tell the agent a message, and go on with it until it asks and calls nothing more."""
        if not self._part:
            self._forget_what_the_thread_lost(message)
        if self._kept.open and self._kept.thread == self._thread:
            await self._withdraw()
        new: list[Json] = [message]
        props: Json = {}
        settled: SettledRound | None = None
        for _ in range(MAX_ROUNDS):
            end = await self._round(new, settled, props)
            outcome, legacy = end.outcome, end.outcome.get("legacy")
            earlier, new, settled, props = settled, [], None, {}
            if outcome["type"] == "cancelled":
                await self._turn.cancel("the agent's run was cancelled")
            if outcome["type"] == "interrupt":
                settled, new = await self._settle(outcome["interrupts"], end.left, earlier)
            elif legacy is not None:
                props = await self._answer_legacy(legacy)
            elif end.left:
                self._keep(())
                new = await self._open_calls.make(end.left, self._number)
            else:
                self._keep(())
                return end.result
        raise AgentFailed(f"the agent does not come to an end in {MAX_ROUNDS} rounds")

    # What it is told

    def _forget_what_the_thread_lost(self, message: Json) -> None:
        """Cut the mirror where the thread's messages are others: edited, hidden, or said anew."""
        there = {each["id"] for each in self._turn.input.messages if each["role"] == "user"}
        there.discard(message["id"])
        for position, held in enumerate(self._mirror.messages):
            if held["role"] == "user" and held["id"] not in there:
                del self._mirror.messages[position:]
                return

    def _keep(self, waiting: Sequence[str]) -> None:
        kept = KeptThread(self._mirror.messages, list(waiting), self._thread)
        kept.keep(self._turn, self._name)

    async def _withdraw(self) -> None:
        """Tell the agent that nobody answers what it asked before this turn."""
        entries = [{"interruptId": each, "status": "cancelled"} for each in self._kept.open]
        try:
            await self._round([], SettledRound(entries), {}, told_to_stop=True)
        except AgentFailed as failed:
            _log.info("agent %r knows no more of its open questions: %s", self._served.name, failed)

    def _request(
        self, new: Sequence[Json], settled: SettledRound | None, props: Json, number: int
    ) -> Json:
        turn_input = self._turn.input
        request: Json = {
            "threadId": self._thread,
            "runId": "r-" + digest(self._turn.key, self._served.name, self._part, str(number)),
            "protocolVersion": PROTOCOL,
            "state": plain(self._turn.state),
            "messages": plain(
                [m for m in [*self._mirror.messages, *new] if m["role"] != "activity"]
            ),
            "tools": self._open_calls.offered(),
            "context": [plain(item) for item in turn_input.context],
            "forwardedProps": {**_object(plain(turn_input.forwarded_props)), **props},
        }
        return request if settled is None else {**request, "resume": settled.entries}

    # A round

    async def _round(
        self,
        new: Sequence[Json],
        settled: SettledRound | None,
        props: Json,
        *,
        told_to_stop: bool = False,
    ) -> RoundEnd:
        number = self._number
        self._number += 1
        log = RoundLog(self._turn, f"{self._name}{self._part}", number)
        for patch in log.states:
            await self._turn.patch(patch)
        for begun in log.unsure:
            await self._decide(number, begun, log.why or "", "", settled)
        self._asked_as = log.thread or self._thread
        if log.end is not None:
            log.restore(self._mirror)
            return log.end
        request = self._request(new, settled, props, number)
        before = plain(self._mirror.messages)
        self._mirror.messages = plain([*before, *new])
        end: RoundEnd | None = None
        tries = 0
        if log.begun and not log.failed and not told_to_stop:
            end = await self._unsure(log, number, request, settled)
        while end is None:
            await log.begin(self._thread)
            tries += 1
            self._mirror.messages = plain([*before, *new])
            try:
                end = await self._run(log, number, request)
            except _Lost as lost:
                if told_to_stop:
                    end = RoundEnd(_SUCCESS)
                elif lost.busy or self._served.again:
                    if tries == TRIES:
                        raise AgentFailed(f"the agent's run broke off: {lost}") from None
                    await sleep(2.0 ** (tries - 2))
                else:
                    await log.lost(str(lost))
                    end = await self._unsure(log, number, request, settled)
        await log.finish(end, before, self._mirror)
        return end

    async def _unsure(
        self, log: RoundLog, number: int, request: Json, settled: SettledRound | None
    ) -> RoundEnd | None:
        """Find out about a round that was begun and not seen to end; None: it begins again."""
        if self._served.again:
            return None
        if self._served.verify is not None:
            async with self._turn.at(f"verify:{number}:{log.begun}"):
                look = partial(_looked, self._served.verify, request)
                step = self._turn.step.options(name="verify", idempotent=True, returns=Json)
                verdict = await step(look)
            if verdict["happened"]:
                return RoundEnd(_object(verdict["outcome"]) or _SUCCESS)
            return None
        decision = self._decisions.get((number, log.begun))
        if decision is None:
            await log.ask()
            why = log.why or "the server stopped meanwhile"
            decision = await self._decide(number, log.begun, why, _told(request), settled)
        if decision.action == "run_again":
            return None
        if decision.action != "skip":
            await self._turn.cancel("the agent's run was left unsure")
        return RoundEnd(_SUCCESS)

    async def _decide(
        self, number: int, begun: int, why: str, words: str, settled: SettledRound | None
    ) -> Decision:
        """Ask what becomes of it; again, only if all say so whose yes it acts upon."""
        approvers = [] if settled is None else settled.approvers
        for place, who in enumerate(approvers or [None]):
            async with self._turn.at(f"unsure:{number}:{begun}" + (f":{place}" if place else "")):
                decision = await self._turn.decide(
                    why=f"Its run broke off, and nobody knows what it has done: {why}.",
                    planned_action=f"Run agent {self._served.name!r} again? It was told: {words}",
                    options=[
                        Option("Run it again", "run_again", "What it has done may be done twice."),
                        Option("Skip it", "skip", "The turn goes on as if it had ended."),
                        Option("Stop", "stop", "The turn ends."),
                    ],
                    approvers=who,
                )
            if decision.action != "run_again":
                break
        self._decisions[number, begun] = decision
        return decision

    async def _run(self, log: RoundLog, number: int, request: Json) -> RoundEnd:
        """Run the agent once, and show what it does."""
        showing = Showing(
            self._turn,
            number,
            self._mirror,
            log,
            self._reported,
            self._open_calls.may_be_left,
            raw=self._served.raw,
        )
        self._mirror.state = plain(request["state"])
        order, chunks = BodyOrder(), Chunks()
        headers = None if self._served.headers is None else self._served.headers(self._turn)
        if isinstance(headers, Awaitable):
            headers = await headers
        try:
            async with aclosing(self._served.source.run(request, headers)) as events:  # type: ignore[type-var]  # all sources are generators
                async for event in _read(events, order, chunks):
                    if event["type"] == "RUN_ERROR":
                        if event.get("code") in _GOES_ON:
                            raise _Lost(event["message"])
                        if event.get("code") == _BUSY:
                            await log.fail()
                            raise _Lost(_words(event), busy=True)
                        await showing.close("its agent failed")
                        await log.fail()
                        raise AgentFailed(_words(event))
                    await showing.take(event)
                    if event["type"] == "RUN_FINISHED":
                        end = await self._finished(event, showing)
        except asyncio.CancelledError:
            if self._turn.stopped:
                self._served.source.stop(request, headers)
            raise
        except NothingBegan as error:
            await log.fail()
            raise AgentFailed(f"the agent did not begin: {error}") from None
        except _Lost:
            await showing.close("its agent's run broke off")
            raise
        return end

    async def _finished(self, event: Json, showing: Showing) -> RoundEnd:
        for usage in _list(event.get("usage")):
            await self._count(usage)
        outcome = event.get("outcome") or _SUCCESS
        if showing.asked is not None and outcome["type"] == "success":
            outcome = {**outcome, "legacy": {"value": showing.asked}}
        waiting = {each.get("toolCallId") for each in outcome.get("interrupts", ())}
        return RoundEnd(outcome, event.get("result"), [c for c in showing.left if c not in waiting])

    async def _count(self, usage: Any) -> None:
        if not isinstance(usage, dict):
            return
        counts = {ours: usage.get(theirs) for ours, theirs in _COUNTS.items()}
        async with self._turn.at(f"usage:{self._number}"):
            await self._turn.usage(usage.get("provider"), usage.get("model"), **counts)

    # What it wants

    async def _settle(
        self, interrupts: list[Json], left: Sequence[str], earlier: SettledRound | None
    ) -> tuple[SettledRound, list[Json]]:
        """Ask, and make what is left to be called, in one outcome."""
        ids = {each["id"] for each in interrupts}
        if again := ids & self._asked:
            raise AgentFailed(
                f"the agent asks {', '.join(sorted(again))} again: it did not take the answer"
            )
        self._asked |= ids
        self._keep([each["id"] for each in interrupts])
        answered = {} if earlier is None else earlier.by

        async def asked() -> SettledRound:
            async with self._turn.at(f"ask:{self._number}"):
                log = RoundLog(self._turn, f"{self._name}{self._part}", self._number)
                return await ask(
                    self._turn, log, interrupts, self._mirror, self._served.approve, answered
                )

        if left:
            calls = self._open_calls.make(left, self._number)
            settled, new = await self._turn.gather(asked(), calls)
        else:
            settled, new = await asked(), []
        if self._kept_elsewhere():
            raise AgentFailed(
                "this thread is a copy: the agent knows its questions by the thread that was copied"
            )
        return settled, new

    def _kept_elsewhere(self) -> bool:
        """True if the agent was asked in the thread that this one is a copy of."""
        return self._asked_as != self._thread

    async def _answer_legacy(self, legacy: Json) -> Json:
        value = legacy["value"]
        message = value if isinstance(value, str) else to_json(value).decode()[:_MAX_SHOWN]
        self._keep(())
        async with self._turn.at(f"ask:{self._number}"):
            answer = await self._turn.interrupt(namespaced(ON_INTERRUPT), message or ON_INTERRUPT)
        if not answer.resolved:
            await self._turn.cancel("nobody answered what the agent asked")
        return {"command": {"resume": answer.value}}


_COUNTS: Final = {
    "input_tokens": "inputTokens",
    "output_tokens": "outputTokens",
    "reasoning_tokens": "reasoningTokens",
    "cached_input_tokens": "cachedInputTokens",
    "cache_write_input_tokens": "cacheWriteInputTokens",
}


async def _read(
    events: AsyncIterator[Json], order: BodyOrder, chunks: Chunks
) -> AsyncIterator[Json]:
    """The events as the protocol has them; `_Lost` for whatever ends them before their run."""
    notes: list[str] = []
    while True:
        try:
            value = await anext(events)
            event = read_event(value, notes)
            plainly = [] if event is None else chunks.expanded(event)
            for each in plainly:
                order.take(each)
        except StopAsyncIteration:
            break
        except NothingBegan:
            raise
        except (ProtocolViolation, RunBroke) as error:
            raise _Lost(str(error)) from None
        except Exception as error:  # its text is nobody's but the log's
            _log.warning("a run of an agent broke off", exc_info=error)
            raise _Lost(type(error).__name__) from None
        for note in notes:
            _log.warning("%s", note)
        notes.clear()
        for each in plainly:
            yield each
    if not order.ended:
        raise _Lost("its stream ended before its run did")


async def _looked(verify: Verify, request: Json) -> Json:
    verdict = await verify(request)
    if isinstance(verdict, Happened):
        return {"happened": True, "outcome": verdict.value}
    return {"happened": False, "outcome": None}


def _told(request: Json) -> str:
    """Say in a line what a run is told: the answers, or the newest message."""
    newest = request.get("resume") or (request["messages"] or [""])[-1]
    text = to_json(newest).decode()
    return text if len(text) <= _MAX_SHOWN else text[: _MAX_SHOWN - 1] + "…"


def _words(error: Json) -> str:
    code = f" ({error['code']})" if error.get("code") else ""
    return f"the agent failed{code}: {error['message']}"


def _object(value: Any) -> Json:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]
