"""The log of a turn's rounds, in its notes: what was begun, what was seen, and how each ended."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic_core import from_json, to_json

from sayso import Turn
from sayso.client.thread import ThreadState
from sayso.frameworks.agui.source import Json


def plain(value: Any) -> Any:
    """A view of JSON as JSON."""
    if isinstance(value, Mapping):
        return {name: plain(member) for name, member in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [plain(item) for item in value]
    return value


def digest(*parts: str) -> str:
    """An id made of parts, the same for the same ones."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]


@dataclass(slots=True)
class RoundEnd:
    """How a round ended: `left` are the calls that it left open, by their ids."""

    outcome: Json
    result: Any = None
    left: list[str] = field(default_factory=list)


class RoundLog:
    """The notes of earlier executions of this turn about one round."""

    def __init__(self, turn: Turn, name: str, number: int) -> None:
        """`name` is that of the notes: each part of a turn has its own."""
        self._turn, self._name, self._number = turn, name, number
        noted = [note for note in turn.notes(name) if note["round"] == number]
        self._put = [note for note in noted if note["what"] == "put"]
        noted = [note for note in noted if note["what"] != "put"]
        begins = [note for note in noted if note["what"] == "begin"]
        self.begun: int = len(begins)
        """How many times it was begun."""
        self.thread: str | None = begins[-1]["thread"] if begins else None
        """The thread that the agent knew it by, which is another one where this is a copy."""
        self.states: list[list[Json]] = [n["patch"] for n in noted if n["what"] == "state"]
        self.why: str | None = next((n["why"] for n in noted[::-1] if n["what"] == "lost"), None)
        """Why its end was not seen, where this server saw that."""
        self.unsure: list[int] = [note["begun"] for note in noted if note["what"] == "unsure"]
        """The begins, counted from 1, after which a person was asked."""
        self.failed: bool = bool(noted) and noted[-1]["what"] == "failed"
        """True if it has failed, as the agent said, the last time."""
        self.heard: set[str] = set()
        """Messages and thoughts that this execution has shown to their end, by the agent's ids."""
        self._said: set[str] = {n["words"] for n in noted if n["what"] == "said"}
        ended = [note for note in noted if note["what"] == "end"]
        self.end: RoundEnd | None = None
        self._kept: Json = {}
        if ended:
            self._kept = ended[-1]
            self.end = RoundEnd(*(self._kept[name] for name in ("outcome", "result", "left")))

    def put_before(self, times: int) -> Json:
        """Whom each of its answers comes from after so many questions, as last noted."""
        return {name: terms for put in self._puts(times) for name, terms in put.items()}

    async def put(self, times: int, terms: Json) -> list[list[str]]:
        """Note whom each of its answers comes from, after so many questions.

        That is what rules say now, and once the answers were sent what they said then. Returns what
        was put, one after the other; for each the last counts.
        """
        puts, before = self._puts(times), self.put_before(times)
        new = {name: whom for name, whom in terms.items() if before.get(name) != whom}
        if new and not (puts and self.begun and not self.failed):
            await self._note("put", times=times, terms=new)
            puts.append(new)
        return [list(put) for put in puts]

    def _puts(self, times: int) -> list[Json]:
        return [note["terms"] for note in self._put if note["times"] == times]

    async def begin(self, thread: str) -> None:
        """Note that it begins, before anything is sent; `thread` is the agent's name for it."""
        await self._note("begin", durable=True, thread=thread)
        self.begun += 1
        self.failed = False

    async def lost(self, why: str) -> None:
        """Note that its end was not seen."""
        self.why = why
        await self._note("lost", why=why)

    async def ask(self) -> None:
        """Note that a person is asked what became of it."""
        self.unsure.append(self.begun)
        await self._note("unsure", begun=self.begun)

    async def fail(self) -> None:
        """Note that it has failed, so that nobody has to ask whether it ended."""
        await self._note("failed")

    async def state(self, patch: list[Json]) -> None:
        """Note what it did to the shared state."""
        await self._note("state", patch=patch)

    async def say(self, words: str) -> None:
        """Note that it has said something, so that a snapshot of it says it no second time."""
        self._said.add(digest(words))
        await self._note("said", words=digest(words))

    def has_said(self, words: str) -> bool:
        """True for what was said in this round before."""
        return digest(words) in self._said

    def reported(self, call: str) -> Json | None:
        """The arguments of a call that was told of in any round: it may be announced anew."""
        noted = (
            n for n in self._turn.notes(self._name) if n["what"] == "call" and n["call"] == call
        )
        arguments: Json | None = next((note["arguments"] for note in noted), None)
        return arguments

    async def report(self, call: str, arguments: Json) -> None:
        """Note a call that is told of."""
        await self._note("call", call=call, arguments=arguments)

    async def finish(self, end: RoundEnd, before: Sequence[Json], mirror: ThreadState) -> None:
        """Note its end, and the messages of the mirror that are others than `before`."""
        old = {message["id"]: to_json(message) for message in before}
        changed = [m for m in mirror.messages if old.get(m["id"]) != to_json(m)]
        self.end = end
        await self._note(
            "end",
            outcome=end.outcome,
            result=end.result,
            left=end.left,
            changed=changed,
            order=[message["id"] for message in mirror.messages],
        )

    def restore(self, mirror: ThreadState) -> None:
        """Bring the mirror to where the round left it."""
        held = {message["id"]: message for message in mirror.messages}
        held |= {message["id"]: message for message in self._kept["changed"]}
        mirror.messages = [held[name] for name in self._kept["order"]]

    async def _note(self, what: str, *, durable: bool = False, **members: Any) -> None:
        note = {"round": self._number, "what": what, **members}
        await self._turn.note(self._name, note, durable=durable)


@dataclass(slots=True)
class KeptThread:
    """Private values of a thread between turns: the agent's own messages, by its own ids."""

    messages: list[Json] = field(default_factory=list)
    open: list[str] = field(default_factory=list)
    """Its questions that wait here: where the turn is stopped, it has to be told."""
    thread: str = ""
    """The thread that the agent knows them by."""

    @classmethod
    def of(cls, turn: Turn, name: str) -> "KeptThread":
        """Read what was kept, or nothing."""
        data = turn.kept.get(name)
        return cls() if data is None else cls(**from_json(data))

    def keep(self, turn: Turn, name: str) -> None:
        """Keep it, once the turn waits or ends."""
        members = {"messages": self.messages, "open": self.open, "thread": self.thread}
        turn.keep(name, to_json(members))
