"""One turn of a graph: the graph runs in a task of its own, and all that it does is noted here.

The pump alone writes to the log. A pause of the turn never reaches a task of LangGraph, which would
take it for an error of the node.
"""

import asyncio
import logging
from collections.abc import Callable, Collection, Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

import orjson
from langchain_core.messages import AIMessage, AIMessageChunk
from langgraph.types import Command, Overwrite

from sayso import Decision, NotRecordable, Option, ReplayMismatch, Tool, Turn
from sayso.frameworks.langgraph import asking, wire
from sayso.frameworks.langgraph.before import MESSAGES, Before
from sayso.frameworks.langgraph.calls import Calls, Happening
from sayso.frameworks.langgraph.log import Log
from sayso.frameworks.langgraph.rooms import Rooms
from sayso.frameworks.langgraph.saver import Event, LogSaver, config_of
from sayso.frameworks.langgraph.speech import START, Speech, Steps
from sayso.frameworks.langgraph.wrap import Execute, recorder

PIECE: Final = 200_000
"""Characters of a piece: less than a note may have, whichever they are."""


def pieces(event: Event) -> list[Event]:
    """An event as several notes."""
    text = orjson.dumps(event).decode()
    starts = range(0, len(text), PIECE)
    return [
        {
            "k": "piece",
            "first": start == 0,
            "last": start == starts[-1],
            "text": text[start:][:PIECE],
        }
        for start in starts
    ]


def whole(notes: Iterable[Event]) -> Iterator[Event]:
    """The events of notes; one whose last pieces are not there has not happened."""
    texts: list[str] = []
    for note in notes:
        if note["k"] != "piece":
            yield note
            continue
        if note["first"]:
            texts = []
        texts.append(note["text"])
        if note["last"]:
            yield orjson.loads("".join(texts))


_log = logging.getLogger("sayso.langgraph")

NAME: Final = "langgraph"
"""The name of the turn's notes."""
QUIET_TURNS: Final = 20
"""Turns of the event loop without a call after which those that were made are one batch."""

NEAR_S: Final = 0.5
"""Seconds that calls wait at most for those of nodes that have begun beside theirs."""
STEP_S: Final = 0.001
"""Seconds between two looks at those nodes."""

BEAT_S: Final = 0.05
"""Seconds after which a turn says that it goes on, while a node runs that must not be cut."""


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
    steps: bool = True
    subagents: frozenset[str] = frozenset()
    parts: Mapping[str, str] = field(default_factory=dict)
    context: Any = None
    first: Callable[[Turn], Any] | None = None
    on_cancel: Any = "raise"
    serde: Any = None


class GraphTurn:
    """One execution of a turn."""

    def __init__(self, turn: Turn, served: Served) -> None:
        self.turn, self.served = turn, served
        self.log = Log()
        self.saver = LogSaver(self._tell, served.serde)
        self.graph = served.graph.copy({"checkpointer": self.saver})
        self.config = config_of(served.config)
        self.shown = self._own(turn.input.state)
        self.before = Before.read(turn.kept.get(NAME))
        self.queue: asyncio.Queue[Happening] = asyncio.Queue()
        self._nothing: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._nothing.set_result(None)
        self.later: list[Happening] = []
        self.tasks: set[asyncio.Task[Any]] = set()
        self.unheard: set[asyncio.Future[Any]] = set()
        self.ended = False
        self.raised: dict[str, list[Any]] = {}
        self.near: set[str] = set()
        """Nodes of tools that have begun and made no call yet."""
        self.within: dict[str, str] = {}
        """The namespace of the graph that has raised each interrupt, by its id."""
        self.getter: asyncio.Future[Happening] | None = None
        self.rooms = Rooms(turn, self._spawn)
        self.speech = Speech(turn, self.rooms)
        self.steps = Steps(turn)
        self.calls = Calls(
            turn,
            self.saver,
            self.log,
            self.rooms,
            served.tools,
            served.parts,
            served.tool,
            served.on_cancel,
            spawn=self._spawn,
            tell=self._heard,
            fail=lambda error: self.queue.put_nowait({"k": "error", "error": error}),
        )

    # What the graph tells, in tasks of its own

    async def _tell(self, event: Event) -> None:
        await self._heard(event)

    async def _heard(self, event: Event) -> Any:
        if self.ended:  # what is cancelled writes that it was; nobody wants to know
            raise asyncio.CancelledError
        done: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self.unheard.add(done)
        done.add_done_callback(self.unheard.discard)
        self.queue.put_nowait({**event, "done": done})
        return await done

    async def begin(self, task: str, node: str, passed: Any, within: str | None = None) -> bool:
        """Note that a node begins; False where a person has said that it must not."""
        if task in self.log.skipped:
            return False
        event = {"k": "begin", "task": task, "node": node, "given": _brief(passed)}
        await self._heard({**event, "within": within})
        return True

    def enter(self, task: str, node: str) -> None:
        """Tell that a node begins that clients see as a step, or as an inner agent."""
        self.queue.put_nowait({"k": "enter", "task": task, "node": node})

    def nears(self, task: str) -> None:
        """Tell that a node of tools begins, and is about to make its calls."""
        self.near.add(task)

    def over(self, task: str) -> None:
        """Tell that a node of tools has ended, whether it has made calls or not."""
        self.near.discard(task)

    def hush(self, task: str) -> None:
        """Say nothing that models say below this task."""
        self.speech.hushed.add(task)

    async def call(self, task: str, request: Any, execute: Execute) -> Any:
        """Have the turn make a call of a tool; returns what the node takes for its result."""
        self.near.discard(task)
        return await self._heard(self.calls.wished(task, request, execute))

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
            return asking.event_of(raised, (), self._about)
        state = await self.graph.aget_state(self.config)
        return asking.event_of((), state.next, self._about)

    def _about(self, interrupt: Any) -> dict[str, Any]:
        """Whose interrupt it is, and the calls of the model's newest message that it is about."""
        within = self.within.get(interrupt.id, "")
        messages = self.saver.backwards(within, MESSAGES)
        newest = next((each for each in messages if isinstance(each, AIMessage)), None)
        calls = [] if newest is None else newest.tool_calls
        return {
            "within": within,
            "calls": asking.calls_of(interrupt.value, calls, self.calls.tools),
        }

    # The turn

    async def go(self) -> Any:
        """Go on from what the log says, until the graph is over or asks."""
        if self.before is not None:
            self.saver.again(self.before.put)
        for event in whole(self.turn.notes(NAME)):
            await self._again(event)
        self.saver.settle()
        if not self.log.began:
            await self._note({"k": "graph", "nodes": list(self.served.nodes)})
        if self.log.done is not None:
            return self.log.done["result"]
        if unsure := self.log.unsure():
            event = {"k": "unsure", "tasks": unsure}
            await self._note(event)
            await self._decide(event)
        try:
            while True:
                self._spawn(self._drive(self._given()))
                questions = await self._pump()
                if questions is None:
                    return await self._finish()
                await self._note(questions)
                await self._ask(questions)
        finally:
            await self._unwind()

    async def _note(self, event: Event, *, durable: bool = False) -> None:
        """Append an event to the log."""
        try:
            await self.turn.note(NAME, event, durable=durable)
        except NotRecordable:  # too large for one note, or for the turn
            parts = pieces(event)
            for part in parts:
                await self.turn.note(NAME, part, durable=durable and part is parts[-1])

    def _keep(self) -> None:
        """Keep the state of the graph for the next turn."""
        try:
            self.turn.keep(NAME, Before.of(self.saver, self.shown, self.turn.input.messages))
        except NotRecordable as error:
            _log.warning(
                "the next turn of thread %r begins with its messages alone: %s",
                self.turn.input.thread_id,
                error,
            )
            self.turn.keep(NAME, None)

    async def _unwind(self) -> None:
        """Cancel what is left of the graph, with the writes that LangGraph leaves to themselves."""
        self.ended = True
        left: list[asyncio.Future[Any]] = [*self.tasks, *self.unheard]
        if self.getter is not None:
            left.append(self.getter)
        for each in left:
            each.cancel()
        await asyncio.gather(*left, return_exceptions=True)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)
        return task

    async def _again(self, event: Event) -> None:
        """Take an event of an earlier execution."""
        self.log.note(event)
        match event["k"]:
            case "graph":
                self._check("node", event["nodes"], self.served.nodes)
            case "calls":
                mounted = [call["name"] for call in event["calls"] if call["mounted"]]
                self._check("tool", mounted, self.served.tools)
                self.calls.again(event["calls"])
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
        for raised in event["raised"]:
            self.within.setdefault(raised, event["at"][0])  # graphs around it raise it as well
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
        update = {name: self._whole(name, value) for name, value in self.log.update.items()}
        return Command(resume=answers or None, update=update or None)

    def _input(self) -> Any:
        """The input: the author's, or the thread's messages and what its state says."""
        if self.served.first is not None:
            return self.served.first(self.turn)
        shown = {} if self.before is None else self.before.shown
        state = {
            name: self._whole(name, self.shown[name])
            for name in self.served.plain
            if name in self.shown and (name not in shown or shown[name] != self.shown[name])
        }
        history = self.turn.input.messages
        if self.before is None:
            return {**state, MESSAGES: wire.langchain_messages(history)}
        return {**state, MESSAGES: self.before.news(history, self.saver)}

    def _whole(self, name: str, value: Any) -> Any:
        """A value of the shared state that takes the place of the graph's own."""
        holds = self.log.began or self.before is not None
        return Overwrite(value) if holds and name in self.served.reduced else value

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
                case "reply":
                    await self._reply(happening)
                case "enter":
                    await self._enter(happening)
                case "said":
                    await self.speech.hear(happening["message"], happening["about"])
                case "custom":
                    await self._custom(happening["value"])
                case "end" if self.log.unsure():
                    # A graph in another tool is in the midst of its work; LangGraph does not wait.
                    self.later.append(await self._next())
                    self.later.append(happening)
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
        if self.getter is None:
            self.getter = asyncio.ensure_future(self.queue.get())
        while self.log.unsure() and not self.getter.done():
            # A question beside it must not end the turn: it would be cut in the midst of its work.
            await asyncio.wait({self.getter}, timeout=BEAT_S)
            await self.turn.resting(self._nothing)
        happening = await self.turn.resting(self.getter)
        self.getter = None
        return happening

    async def _together(self, first: Happening) -> list[Happening]:
        """All of a kind that come at this moment."""
        batch, quiet = [first], 0
        clock = asyncio.get_running_loop().time
        latest = clock() + NEAR_S
        while quiet < QUIET_TURNS or (self.near and clock() < latest):
            await asyncio.sleep(0 if quiet < QUIET_TURNS else STEP_S)
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
            if not event["raised"]:
                await self.rooms.leave(event["task"])
            await self.steps.leave(event["task"])
        self.log.note(event)
        await self._note(event)
        done.set_result(None)

    async def _say_whole(self, event: Event, writes: Sequence[tuple[str, Any]]) -> None:
        """Say what a task wrote that it did not stream."""
        await self.speech.end(event["task"])
        if START in event["path"]:  # the graph's own input
            return
        for channel, value in writes:
            if channel == MESSAGES:
                for message in wire.said_whole(value):
                    await self.speech.whole(event["at"][0], event["task"], message)

    async def _enter(self, happening: Happening) -> None:
        """Show a node as a step, or as an inner agent."""
        task, node = happening["task"], happening["node"]
        if self.served.steps:
            await self.steps.enter(task, node, self.log.asked)
        if node in self.served.subagents:
            await self.rooms.enter(task, node)

    async def _begin(self, begun: list[Happening]) -> None:
        """Note that nodes begin, durably, and let them."""
        for number, happening in enumerate(begun, start=1):
            event = {name: happening[name] for name in ("k", "task", "node", "given", "within")}
            self.log.note(event)
            await self._note(event, durable=number == len(begun))
        for happening in begun:
            happening["done"].set_result(None)

    async def _call(self, wishes: list[Happening]) -> None:
        """Make the calls that came together."""
        event = self.calls.come(wishes)
        if event is not None:
            self.log.note(event)
            await self._note(event)
            self.calls.launch(event)

    async def _reply(self, happening: Happening) -> None:
        """Note what a tool was answered, and let it go on."""
        done = happening.pop("done")
        self.log.note(happening)
        await self._note(happening)
        done.set_result(None)

    # People

    async def _ask(self, event: Event) -> None:
        """Put what the graph asks to people, and take their answers."""
        questions = asking.questions_of(event)
        answers = await self.turn.interrupt_all(questions) if questions else []
        self.calls.review(asking.reviews_of(event))
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
        await self._note(event)
        self._keep()
        return result


def _brief(passed: Any) -> str:
    """The input of a node, for a person to recognize it."""
    with suppress(Exception):
        passed = asking.as_json(passed)
    return f"Its input: {str(passed)[:300]}"


def _pointer(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")
