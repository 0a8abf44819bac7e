"""Calls of tools that a graph makes: the turn makes each, together with those that came with it.

A call is what its node wishes for and what has become of it. Both may come first: the live graph
comes to a call whose outcome is recorded, and a person answers a call that the graph comes to
later.
"""

import asyncio
import contextvars
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, TypeAlias

from langchain_core.messages import BaseMessage, ToolMessage
from langchain_core.tools import ToolException
from langgraph.errors import GraphInterrupt
from langgraph.types import Command

from sayso import Call, NotRecordable, Told, Tool, ToolCall, Turn, approval, current_call
from sayso.frameworks.langgraph import asking
from sayso.frameworks.langgraph.log import Event, Log
from sayso.frameworks.langgraph.rooms import Rooms, Spawn
from sayso.frameworks.langgraph.saver import LogSaver, unrecorded
from sayso.frameworks.langgraph.wrap import Execute

Happening: TypeAlias = dict[str, Any]
"""Something that the graph tells: an event, and what only this process knows of it."""
RECORDED = ("key", "task", "told", "name", "args", "mounted", "review")
"""The members of a call that stand in the log."""

REVIEW: Final = approval.always(name="review")
"""Asks about a call that LangChain's middleware wants to be reviewed."""


class Calls:
    """The calls of one execution of a turn."""

    def __init__(
        self,
        turn: Turn,
        saver: LogSaver,
        log: Log,
        rooms: Rooms,
        tools: Mapping[str, Tool[..., Any]],
        parts: Mapping[str, str],
        read: Callable[[Any], Tool[..., Any]],
        on_cancel: asking.OnCancel,
        spawn: Spawn,
        tell: Callable[[Happening], Awaitable[Any]],
        fail: Callable[[BaseException], None],
    ) -> None:
        """`read` makes a tool of one of LangChain's; `tell` has the pump note an event.

        `parts` has the names of the agents that tools run.
        """
        self.tools = dict(tools)
        self._turn, self._saver, self._log, self._rooms = turn, saver, log, rooms
        self._parts = parts
        self._mounted, self._read, self._on_cancel = frozenset(tools), read, on_cancel
        self._spawn, self._tell, self._fail = spawn, tell, fail
        self._made: Counter[tuple[str, str]] = Counter()
        self._wishes: dict[str, asyncio.Future[Happening]] = {}
        self._results: dict[str, Any] = {}
        self._launched: set[str] = set()
        self._failures: dict[str, BaseException] = {}
        self._reviews: list[Event] = []

    def review(self, reviews: Iterable[Event]) -> None:
        """Have these calls ask, once the graph makes them; it was told that they may be made."""
        self._reviews.extend(reviews)

    def _reviewed(self, task: str, call_id: str, name: str) -> Event | None:
        """The review of a call that is about to be made; None where none was wanted.

        One that comes under another id than the model gave it is found by its name.
        """
        within = task.rpartition("|")[0]
        there = [
            each for each in self._reviews if each["within"] == within and each["name"] == name
        ]
        there.sort(key=lambda each: each["told"] != call_id)
        return there[0] if there else None

    def again(self, calls: Iterable[Event]) -> None:
        """Take calls of an earlier execution."""
        for call in calls:
            if (review := call.get("review")) is not None:
                self._reviews.remove(next(each for each in self._reviews if _same(each, review)))

    def wished(self, task: str, request: Any, execute: Execute) -> Happening:
        """The wish of a node for a call."""
        tool, call = request.tool, request.tool_call
        if tool.name not in self.tools:  # one that only this run knows
            self.tools[tool.name] = self._read(tool)
        call_id = call["id"] or ""
        self._made[task, call_id] += 1
        return {
            "k": "call",
            "task": task,
            "key": f"{task}/{call_id}#{self._made[task, call_id]}",
            "told": call_id,
            "name": call["name"],
            "args": _coerced(tool, call["args"]),
            "mounted": tool.name in self._mounted,
            "execute": execute,
            "context": contextvars.copy_context(),
        }

    def come(self, wishes: Sequence[Happening]) -> Happening | None:
        """Take wishes that came together; returns those that are new, as an event for the log."""
        new = []
        for wish in wishes:
            self._wish(wish["key"]).set_result(wish)
            if wish["key"] in self._results:
                self._settle(wish["key"])
            elif wish["key"] in self._log.batches:
                self.launch(self._log.batches[wish["key"]])
            elif (misfit := self._misfit(wish)) is not None:
                wish["done"].set_result(misfit)
            else:
                review = self._reviewed(wish["task"], wish["told"], wish["name"])
                call = {**wish, "review": review}
                new.append({name: call[name] for name in RECORDED})
                self.again(new[-1:])
        return {"k": "calls", "calls": new} if new else None

    def _misfit(self, wish: Happening) -> ToolMessage | None:
        """The word for a model whose arguments do not fit; nobody is asked, and nothing runs."""
        try:
            self.tools[wish["name"]].arguments(wish["args"])
        except (ValueError, NotRecordable) as error:
            text, call_id = f"Not called: {error}", wish["told"]
            return ToolMessage(text, tool_call_id=call_id, name=wish["name"], status="error")
        return None

    def _wish(self, key: str) -> asyncio.Future[Happening]:
        """The live graph's wish for this call; it comes, or is here."""
        if key not in self._wishes:
            self._wishes[key] = asyncio.get_running_loop().create_future()
        return self._wishes[key]

    def launch(self, batch: Event) -> None:
        """Begin to make the calls of a batch, unless they are being made."""
        first = batch["calls"][0]["key"]
        if first not in self._launched:
            self._launched.add(first)
            self._spawn(self._make(batch["calls"]))

    async def _make(self, calls: Sequence[Event]) -> None:
        """Make one batch of calls, and give the graph what came of them."""

        async def made() -> list[Call[Any]]:
            async with self._turn.at(f"calls:{calls[0]['key']}"):
                return await self._turn.call_all([self._tool_call(call) for call in calls])

        try:
            outcomes = await self._rooms.within(calls[0]["task"], made)
            for call, outcome in zip(calls, outcomes, strict=True):
                self._results[call["key"]] = self._result(call, outcome)
                self._settle(call["key"])
        except Exception as error:
            self._fail(error)

    def _tool_call(self, call: Event) -> ToolCall:
        async def run(arguments: Mapping[str, Any]) -> Any:
            return await self._execute(call, arguments)

        async def run_part(turn: Turn, arguments: Mapping[str, Any]) -> Any:
            return await self._run_part(call, arguments)

        tool = self.tools[call["name"]]
        self._turn.add_tools(tool)
        body = run_part if call["name"] in self._parts else run
        made = ToolCall(tool, call["args"], call=body, told_as=call["told"])
        review = call.get("review")
        if review is None:
            return made
        editable = "edit" in review["allowed"]
        return replace(made, approval=REVIEW, editable=editable, why=review["why"])

    async def _execute(self, call: Event, arguments: Mapping[str, Any]) -> Any:
        """Run the tool as its node would; this is the turn's effect."""
        key = call["key"]
        wish = await self._wish(key)
        inside: list[bool] = []
        _take_over(wish["context"])
        unrecorded.set(lambda: inside.append(True))
        try:
            result = await wish["execute"](arguments, await self._answers(key), None)
        except GraphInterrupt as raised:
            if not inside:
                raise asking.first_of(raised.args[0]) from None
            self._failures[key] = RuntimeError(
                f"tool {call['name']!r} runs a graph that asks a person, and nothing inside a "
                "tool is recorded: all of it would run again. Make that graph a node, or mount "
                f"it with parts={{{call['name']!r}: that_graph}}"
            )
            raise self._failures[key] from raised
        except Exception as error:
            self._failures[key] = error
            raise
        return Told({"packed": self._saver.pack(result)}, _text(result))

    async def _run_part(self, call: Event, arguments: Mapping[str, Any]) -> Any:
        """Run a tool that runs a graph: all that this graph does is recorded for itself."""
        key, loop = call["key"], asyncio.get_running_loop()
        wish = await self._turn.resting(self._wish(key))
        below = f"{call['task']}|{call['name']}:{call['told']}"
        async with self._rooms.room(below, self._parts[call["name"]]):
            running = wish["execute"](arguments, (), below)
            # The tool runs where its node does, and is no work of the turn, but what it tells is.
            task = loop.create_task(running, context=wish["context"].copy())
            try:
                result = await self._turn.resting(task)
            except GraphInterrupt as raised:
                if not wish["done"].done():
                    wish["done"].set_exception(raised)  # LangGraph asks, and comes again
                await self._turn.resting(loop.create_future())
            except Exception as error:
                self._failures[key] = error
                raise
            finally:
                task.cancel()
        return Told({"packed": self._saver.pack(result)}, _text(result))

    async def _answers(self, key: str) -> list[Any]:
        """The answers to what the tool has asked by `interrupt()`, in order."""
        running = current_call()
        replies = self._log.replies[key]
        if running.answer is not None and running.attempt not in replies:
            value = asking.value_of(running.answer, self._on_cancel)
            event = {"k": "reply", "key": key, "attempt": running.attempt, "value": value}
            await self._tell(event)
        return [replies[attempt] for attempt in sorted(replies)]

    def _result(self, call: Event, outcome: Call[Any]) -> Any:
        """The result of a call for its node: a message, a command, or an error."""
        if outcome.failed:
            return self._failures.pop(call["key"], ToolException(outcome.text))
        value = outcome.value
        if outcome.executed and isinstance(value, dict) and "packed" in value:
            return self._saver.unpack(value["packed"])
        allowed = (call.get("review") or {"allowed": ()})["allowed"]
        answers = outcome.denied and outcome.reason and "respond" in allowed
        answers = answers and "reject" not in allowed
        return ToolMessage(
            outcome.reason if answers else str(outcome),
            tool_call_id=call["told"],
            name=call["name"],
            status="success" if outcome.executed or answers else "error",
        )

    def _settle(self, key: str) -> None:
        """Give the live graph the result of a call, if it waits for it."""
        wish = self._wishes.get(key)
        if wish is None or not wish.done() or wish.result()["done"].done():
            return
        result, done = self._results[key], wish.result()["done"]
        if isinstance(result, BaseException):
            done.set_exception(result)
        else:
            done.set_result(result)


def _same(review: Event, recorded: Event) -> bool:
    """True for two reviews of the same call."""
    return all(review[name] == recorded[name] for name in ("within", "told", "name"))


def _take_over(context: contextvars.Context) -> None:
    """Let the running task know what a task of the graph knows, beside what it knows itself."""
    own = contextvars.copy_context()
    for variable in context:
        if variable not in own:
            variable.set(context[variable])


def _coerced(tool: Any, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments as the tool's own types read them, which take "240" for a number."""
    schema = tool.tool_call_schema
    try:
        read = schema.model_validate(arguments)
        declared = {name: getattr(read, name) for name in arguments if name in schema.model_fields}
        return {**arguments, **asking.as_json(declared)}
    except (AttributeError, ValueError, TypeError):  # the last for what has no JSON form
        return dict(arguments)


def _text(result: Any) -> str:
    """The result of a tool as people and models read it."""
    if isinstance(result, BaseMessage):
        return str(result.text)
    if isinstance(result, Command) and isinstance(result.update, dict):
        for value in result.update.values():
            texts = (
                [m.text for m in value if isinstance(m, ToolMessage)]
                if isinstance(value, list)
                else []
            )
            if texts:
                return str(texts[-1])
    if isinstance(result, list):
        return "\n".join(filter(None, map(_text, result)))
    return "" if isinstance(result, Command) else str(result)
