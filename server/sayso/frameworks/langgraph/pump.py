"""One turn of a graph: the graph runs in a task of its own, and all that it does is noted here.

The pump alone writes to the log. A pause of the turn never reaches a task of LangGraph, which would
take it for an error of the node.
"""

import asyncio
import contextvars
import logging
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, ToolMessage
from langchain_core.tools import ToolException
from langgraph.errors import GraphInterrupt
from langgraph.types import Command, Overwrite

from sayso import Call, Decision, Option, ReplayMismatch, Told, Tool, ToolCall, Turn
from sayso.frameworks.langgraph import asking, wire
from sayso.frameworks.langgraph.log import Log
from sayso.frameworks.langgraph.saver import Event, LogSaver, config_of, unrecorded
from sayso.frameworks.langgraph.speech import START, Speech
from sayso.frameworks.langgraph.wrap import Execute, recorder

_log = logging.getLogger("sayso.langgraph")

MESSAGES: Final = "messages"
"""The channel of a conversation, as LangGraph's own states have it."""
NAME: Final = "langgraph"
"""The name of the turn's notes."""
QUIET_TURNS: Final = 20
"""Turns of the event loop without a call after which those that were made are one batch."""

Happening = dict[str, Any]
"""Something that the graph tells: an event, and what only this process knows of it."""


@dataclass(frozen=True, slots=True)
class Served:
    """A graph as it is mounted."""

    graph: Any
    tools: Mapping[str, Tool[..., Any]]
    tool: Callable[[Any], Tool[..., Any]]
    nodes: tuple[str, ...]
    shared: tuple[str, ...]
    plain: tuple[str, ...]
    reduced: frozenset[str]
    config: dict[str, Any] = field(default_factory=dict)
    stops: bool = False
    context: Any = None
    first: Callable[[Turn], Any] | None = None
    on_cancel: Any = "raise"
    serde: Any = None


class GraphTurn:
    """One execution of a turn."""

    def __init__(self, turn: Turn, served: Served) -> None:
        self.turn, self.served = turn, served
        self.log = Log()
        self.tools = dict(served.tools)
        self.saver = LogSaver(self._tell, served.serde)
        self.graph = served.graph.copy({"checkpointer": self.saver})
        self.config = config_of(served.config)
        self.shown = self._own(turn.input.state)
        self.queue: asyncio.Queue[Happening] = asyncio.Queue()
        self.later: list[Happening] = []
        self.tasks: set[asyncio.Task[Any]] = set()
        self.unheard: set[asyncio.Future[Any]] = set()
        self.over = False
        self.made: Counter[tuple[str, str]] = Counter()
        self.results: dict[str, Any] = {}
        self.raised: dict[str, list[Any]] = {}
        self.handlers: dict[str, asyncio.Future[Happening]] = {}
        self.waiting: dict[str, asyncio.Future[Any]] = {}
        self.failures: dict[str, BaseException] = {}
        self.speech = Speech(turn)

    # What the graph tells, in tasks of its own

    async def _tell(self, event: Event) -> None:
        await self._heard(event)

    async def _heard(self, event: Event) -> Any:
        if self.over:  # what is cancelled writes that it was; nobody wants to know
            raise asyncio.CancelledError
        done: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self.unheard.add(done)
        done.add_done_callback(self.unheard.discard)
        self.queue.put_nowait({**event, "done": done})
        return await done

    async def begin(self, task: str, node: str, passed: Any) -> bool:
        """Note that a node begins; False where a person has said that it must not."""
        if task in self.log.skipped:
            return False
        await self._heard({"k": "begin", "task": task, "node": node, "given": _brief(passed)})
        return True

    def hush(self, task: str) -> None:
        """Say nothing that models say below this task."""
        self.speech.hushed.add(task)

    async def call(self, task: str, request: Any, execute: Execute) -> Any:
        """Have the turn make a call of a tool; returns what the node takes for its result."""
        if request.tool.name not in self.tools:  # one that only this run knows
            self.tools[request.tool.name] = self.served.tool(request.tool)
        call_id = request.tool_call["id"] or ""
        self.made[task, call_id] += 1
        key = f"{task}/{call_id}#{self.made[task, call_id]}"
        return await self._heard(
            {
                "k": "call",
                "key": key,
                "told": call_id,
                "name": request.tool_call["name"],
                "args": _coerced(request.tool, request.tool_call["args"]),
                "mounted": request.tool.name in self.served.tools,
                "execute": execute,
                "context": contextvars.copy_context(),
            }
        )

    async def _drive(self, begins_with: Any) -> None:
        """Run the graph until it is over, or asks."""
        recorder.set(self)
        try:
            stream = self.graph.astream(
                begins_with,
                self.config,
                context=self.served.context,
                stream_mode=["messages", "custom"],
                subgraphs=True,
                durability="sync",
            )
            async for _, mode, chunk in stream:
                if mode == "custom":
                    self.queue.put_nowait({"k": "custom", "value": chunk})
                elif isinstance(chunk[0], AIMessage | AIMessageChunk):
                    self.queue.put_nowait({"k": "said", "message": chunk[0], "about": chunk[1]})
            self.queue.put_nowait({"k": "end", "asked": await self._asked()})
        except Exception as error:
            self.queue.put_nowait({"k": "error", "error": error})

    async def _asked(self) -> Event | None:
        """The questions of the graph, which has stopped; None where it is over."""
        raised = [each for task in self.raised.values() for each in task]
        if raised or not self.served.stops:
            return asking.event_of(raised, ())
        state = await self.graph.aget_state(self.config)
        return asking.event_of((), state.next)

    # The turn

    async def go(self) -> Any:
        """Go on from what the log says, until the graph is over or asks."""
        for event in self.turn.notes(NAME):
            await self._again(event)
        if not self.log.began:
            await self.turn.note(NAME, {"k": "graph", "nodes": list(self.served.nodes)})
        if self.log.done is not None:
            return self.log.done["result"]
        if unsure := self.log.unsure():
            event = {"k": "unsure", "tasks": unsure}
            await self.turn.note(NAME, event)
            await self._decide(event)
        try:
            while True:
                self._spawn(self._drive(self._given()))
                questions = await self._pump()
                if questions is None:
                    return await self._finish()
                await self.turn.note(NAME, questions)
                await self._ask(questions)
        finally:
            await self._unwind()

    async def _unwind(self) -> None:
        """Cancel what is left of the graph, with the writes that LangGraph leaves to themselves."""
        self.over = True
        left: list[asyncio.Future[Any]] = [*self.tasks, *self.unheard]
        for each in left:
            each.cancel()
        await asyncio.gather(*left, return_exceptions=True)

    def _spawn(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def _again(self, event: Event) -> None:
        """Take an event of an earlier execution."""
        self.log.note(event)
        match event["k"]:
            case "graph":
                self._check("node", event["nodes"], self.served.nodes)
            case "calls":
                mounted = [call["name"] for call in event["calls"] if call["mounted"]]
                self._check("tool", mounted, self.tools)
            case "put":
                self.saver.again(event)
                await self._show(event.get("ops", ()))
            case "writes":
                self.saver.again(event)
                self._raise(event)
            case "unsure":
                await self._decide(event)
            case "asked":
                await self._ask(event)

    def _check(self, what: str, recorded: Iterable[str], present: Collection[str]) -> None:
        """Raise `ReplayMismatch` where the log knows of a node or a tool that is gone.

        LangGraph itself would go on without it, and without a word.
        """
        for name in recorded:
            if name not in present:
                there = ", ".join(present)
                raise ReplayMismatch("langgraph", f"{what} {name}", f"a graph with {there}")

    def _raise(self, event: Event) -> None:
        """Take what a task of the whole graph asks; who writes anything else asks no more."""
        if event["at"][0] == "":
            self.raised.pop(event["task"], None)
            if event["raised"]:
                self.raised[event["task"]] = self.saver.raised(event)

    def _given(self) -> Any:
        """The value that the graph begins with, or goes on with."""
        if not self.log.began:
            return self._input()
        answers = self.log.answers()
        if not answers and not self.log.update:
            return None
        update = {
            name: Overwrite(value) if name in self.served.reduced else value
            for name, value in self.log.update.items()
        }
        return Command(resume=answers or None, update=update or None)

    def _input(self) -> Any:
        """The input: the author's, or the thread's messages and what its state says."""
        if self.served.first is not None:
            return self.served.first(self.turn)
        state = {name: self.shown[name] for name in self.served.plain if name in self.shown}
        messages = wire.langchain_messages(self.turn.input.messages)
        return {**state, MESSAGES: messages}

    async def _pump(self) -> Event | None:
        """Note what the graph does until it stops; returns what it asks, if it does."""
        while True:
            happening = await self._next()
            match happening["k"]:
                case "put" | "writes":
                    await self._record(happening)
                case "begin":
                    await self._begin(await self._together(happening))
                case "call":
                    await self._call(await self._together(happening))
                case "said":
                    await self.speech.hear(happening["message"], happening["about"])
                case "custom":
                    await self._custom(happening["value"])
                case "end":
                    await self.speech.close()
                    questions: Event | None = happening["asked"]
                    return questions
                case "error":
                    await self.speech.close()
                    raise happening["error"]

    async def _next(self) -> Happening:
        if self.later:
            return self.later.pop(0)
        return await self.turn.resting(self.queue.get())

    async def _together(self, first: Happening) -> list[Happening]:
        """All of a kind that come at this moment."""
        batch, quiet = [first], 0
        while quiet < QUIET_TURNS:
            await asyncio.sleep(0)
            quiet += 1
            while not self.queue.empty():
                happening = self.queue.get_nowait()
                same = happening["k"] == first["k"]
                (batch if same else self.later).append(happening)
                quiet = 0 if same else quiet
        return batch

    async def _record(self, happening: Happening) -> None:
        """Note a write of LangGraph's, and let it go on."""
        live = happening.pop("live")
        done = happening.pop("done")
        event = happening
        if event["k"] == "put":
            self.speech.stored(live.get(MESSAGES))
            if event["at"][0] == "":
                event["ops"] = self._changes(live)
                await self._show(event["ops"])
        else:
            self._raise(event)
            await self._say_whole(event, live)
        self.log.note(event)
        await self.turn.note(NAME, event)
        done.set_result(None)

    async def _say_whole(self, event: Event, writes: Sequence[tuple[str, Any]]) -> None:
        """Say what a task wrote that it did not stream."""
        await self.speech.end(event["task"])
        if START in event["path"]:  # the graph's own input
            return
        for channel, value in writes:
            if channel == MESSAGES:
                for message in wire.said_whole(value):
                    await self.speech.whole(event["task"], message)

    async def _begin(self, begun: list[Happening]) -> None:
        """Note that nodes begin, durably, and let them."""
        for number, happening in enumerate(begun, start=1):
            event = {name: happening[name] for name in ("k", "task", "node", "given")}
            self.log.note(event)
            await self.turn.note(NAME, event, durable=number == len(begun))
        for happening in begun:
            happening["done"].set_result(None)

    # Calls of tools

    async def _call(self, calls: list[Happening]) -> None:
        """Make the calls that came together; those of an earlier batch with all of it."""
        new = []
        for call in calls:
            self._handler(call["key"]).set_result(call)
            if call["key"] in self.results:
                self._settle(call["key"])
            elif call["key"] in self.log.batches:
                self._launch(self.log.batches[call["key"]])
            elif (misfit := self._misfit(call)) is not None:
                call["done"].set_result(misfit)
            else:
                new.append(call)
        if new:
            kept = ("key", "told", "name", "args", "mounted")
            event: Event = {
                "k": "calls",
                "calls": [{name: call[name] for name in kept} for call in new],
            }
            self.log.note(event)
            await self.turn.note(NAME, event)
            self._launch(event)

    def _misfit(self, call: Happening) -> ToolMessage | None:
        """The word for a model whose arguments do not fit; nobody is asked, and nothing runs."""
        try:
            self.tools[call["name"]].arguments(call["args"])
        except ValueError as error:
            text = f"Not called: {error}"
            call_id = call["told"]
            return ToolMessage(text, tool_call_id=call_id, name=call["name"], status="error")
        return None

    def _handler(self, key: str) -> asyncio.Future[Happening]:
        """The live graph's wish to make this call; it comes, or is here."""
        if key not in self.handlers:
            self.handlers[key] = asyncio.get_running_loop().create_future()
        return self.handlers[key]

    def _launch(self, batch: Mapping[str, Any]) -> None:
        first = batch["calls"][0]["key"]
        if first not in self.waiting:
            self.waiting[first] = asyncio.get_running_loop().create_future()
            self._spawn(self._make(batch["calls"]))

    async def _make(self, calls: Sequence[Event]) -> None:
        """Make one batch of calls, and give the graph what came of them."""
        try:
            async with self.turn.at(f"calls:{calls[0]['key']}"):
                outcomes = await self.turn.call_all([self._tool_call(call) for call in calls])
            for call, outcome in zip(calls, outcomes, strict=True):
                self.results[call["key"]] = self._result(call, outcome)
                self._settle(call["key"])
        except Exception as error:
            self.queue.put_nowait({"k": "error", "error": error})

    def _tool_call(self, call: Event) -> ToolCall:
        async def run(arguments: Mapping[str, Any]) -> Any:
            return await self._execute(call, arguments)

        tool = self.tools[call["name"]]
        return ToolCall(tool, call["args"], call=run, told_as=call["told"])

    async def _execute(self, call: Event, arguments: Mapping[str, Any]) -> Any:
        """Run the tool as its node would; this is the turn's effect."""
        happening = await self._handler(call["key"])
        inside: list[bool] = []
        _take_over(happening["context"])
        unrecorded.set(lambda: inside.append(True))
        try:
            result = await happening["execute"](arguments)
        except GraphInterrupt as raised:
            if inside:
                self.failures[call["key"]] = RuntimeError(
                    f"tool {call['name']!r} runs a graph that asks a person, and nothing inside a "
                    "tool is recorded: all of it would run again. Make that graph a node"
                )
                raise self.failures[call["key"]] from raised
            waits = {"asked": self.log.asked, "raised": self.saver.pack(raised.args[0])}
            return Told(waits, "It asks a person before it goes on.")
        except Exception as error:
            self.failures[call["key"]] = error
            raise
        return Told({"packed": self.saver.pack(result)}, _text(result))

    def _result(self, call: Event, outcome: Call[Any]) -> Any:
        """The result of a call for its node: a message, a command, or an error."""
        if outcome.failed:
            return self.failures.pop(call["key"], ToolException(outcome.text))
        value = outcome.value
        if outcome.executed and isinstance(value, dict) and "packed" in value:
            return self.saver.unpack(value["packed"])
        if outcome.executed and isinstance(value, dict) and "raised" in value:
            return _Asks(self.saver.unpack(value["raised"]), value["asked"])
        return ToolMessage(
            str(outcome),
            tool_call_id=call["told"],
            name=call["name"],
            status="success" if outcome.executed else "error",
        )

    def _settle(self, key: str) -> None:
        """Give the live graph the result of a call, if it waits for it."""
        handler = self.handlers.get(key)
        if handler is None or not handler.done():
            return
        result, done = self.results[key], handler.result()["done"]
        if done.done():
            return
        if isinstance(result, _Asks):
            if result.round < self.log.asked:  # it has its answer now, and runs again
                self.queue.put_nowait({**handler.result(), "key": f"{key}+"})
            else:
                done.set_exception(self._raised(key, result))
        elif isinstance(result, BaseException):
            done.set_exception(result)
        else:
            done.set_result(result)

    def _raised(self, key: str, asks: "_Asks") -> BaseException:
        """The interrupt of a tool, as LangGraph has it; it knows one at a time in a task."""
        task = key.rpartition("/")[0]
        beside = [
            each
            for each, result in self.results.items()
            if each != key and each.rpartition("/")[0] == task
            if isinstance(result, _Asks) and result.round == asks.round
        ]
        if beside:
            return RuntimeError("two tools of one task ask at once: send each call to its own task")
        interrupt: BaseException = GraphInterrupt(asks.raised)
        return interrupt

    # People

    async def _ask(self, event: Event) -> None:
        """Put what the graph asks to people, and take their answers."""
        answers = await self.turn.interrupt_all(asking.questions_of(event))
        values = asking.resumed(event, answers, self.served.on_cancel)
        state = self._own(self.turn.state)
        update = {name: state[name] for name in state if state[name] != self.shown.get(name)}
        self.shown = state
        self.log.answered(values, update)

    async def _decide(self, event: Event) -> None:
        """Ask about nodes of which nobody knows whether they ended, all at once."""
        tasks = event["tasks"]
        decisions = await self.turn.gather(*(self._decision(begun) for begun in tasks))
        for begun, decision in zip(tasks, decisions, strict=True):
            if decision.action not in ("run_again", "skip"):
                raise RuntimeError(f"node {begun['node']!r} began, and may have ended")
            self.log.decided(begun["task"], again=decision.action == "run_again")

    async def _decision(self, begun: Event) -> Decision:
        async with self.turn.at(f"unsure:{begun['task']}"):
            return await self.turn.decide(
                why="The server stopped while it ran, and nothing says whether it ended.",
                planned_action=f"Run node {begun['node']!r} of the graph again? {begun['given']}",
                options=[
                    Option("Run it again", "run_again", "What it has done may be done twice."),
                    Option("Skip it", "skip", "The graph goes on as if it had changed nothing."),
                    Option("Stop", "stop", "The turn fails."),
                ],
            )

    # The shared state

    def _own(self, state: Any) -> dict[str, Any]:
        """The members of the shared state that are the graph's."""
        if not isinstance(state, Mapping):
            return {}
        return {name: asking.as_json(state[name]) for name in self.served.shared if name in state}

    def _changes(self, values: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The operations that make the shared state what the graph's is now."""
        operations = []
        for name in self.served.shared:
            if name not in values:
                continue
            value = asking.as_json(values[name])
            if name not in self.shown or self.shown[name] != value:
                self.shown[name] = value
                operations.append({"op": "add", "path": f"/{_pointer(name)}", "value": value})
        return operations

    async def _show(self, operations: Sequence[dict[str, Any]]) -> None:
        if operations:
            await self.turn.patch(operations)
            self.shown |= {each["path"][1:]: each["value"] for each in operations}

    async def _custom(self, value: Any) -> None:
        await self.turn.custom("langgraph:custom", asking.as_json(value))

    async def _finish(self) -> Any:
        """The end of a turn whose graph is over."""
        result = dict(self.shown) or None
        event = {"k": "done", "result": result}
        await self.turn.note(NAME, event)
        return result


@dataclass(frozen=True, slots=True)
class _Asks:
    """The result of a tool that has called `interrupt()`: what it asks, and when it did."""

    raised: Any
    round: int


def _take_over(context: contextvars.Context) -> None:
    """Let the running task know what a task of the graph knows, beside what it knows itself."""
    own = contextvars.copy_context()
    for variable in context:
        if variable not in own:
            variable.set(context[variable])


def _brief(passed: Any) -> str:
    """The input of a node, for a person to recognize it."""
    with suppress(Exception):
        passed = asking.as_json(passed)
    return f"Its input: {str(passed)[:300]}"


def _coerced(tool: Any, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments as the tool's own types read them, which take "240" for a number."""
    schema = tool.tool_call_schema
    try:
        read = schema.model_validate(arguments)
    except (AttributeError, ValueError):
        return dict(arguments)
    declared = {name: getattr(read, name) for name in arguments if name in schema.model_fields}
    return {**arguments, **asking.as_json(declared)}


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


def _pointer(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")
