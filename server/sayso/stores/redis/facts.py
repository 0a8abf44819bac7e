"""The facts that a step on Redis is planned on: as much of a thread as the step needs."""

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import orjson

from sayso.base.audit import GENESIS, Rename
from sayso.base.records import Interrupt
from sayso.gate.client_tools import is_call
from sayso.stores.redis.keys import ThreadKeys
from sayso.stores.redis.rows import interrupt_bytes, interrupt_in
from sayso.stores.sealing import Passage
from sayso.stores.step import StepFacts, seen


@dataclass(frozen=True, slots=True)
class QuestionFacts:
    """An interrupt with its number, and the agent that asked."""

    number: int
    agent: str
    interrupt: Interrupt

    def packed(self, way: Passage) -> bytes:
        """The bytes that are kept of it behind its number."""
        return orjson.dumps(self.agent) + b"\n" + interrupt_bytes(self.interrupt, way)

    @classmethod
    def of(cls, value: bytes, way: Passage) -> "QuestionFacts":
        """From what is kept."""
        end = value.index(b"\n")
        interrupt = interrupt_in(value, end + 1, way)
        return cls(int(value[:16]), orjson.loads(value[16:end]), interrupt)


@dataclass(slots=True)
class ThreadFacts:
    """A thread as it was read, or as it stands after a step of its holder.

    `turns` are keys that it has; `asked` the interrupts that were read, all of those turns whose
    keys are in `whole`. `listed` is the thread's row in lists, `active` since when it is there.
    `checkpoint`: what it waits for was shown to others.
    """

    exists: bool
    number: int = 0
    owner: str = ""
    agent: str = ""
    revision: int = 0
    fence: int = 0
    holder: str | None = None
    turn: str | None = None
    status: str | None = None
    listed: str | None = None
    active: int = 0
    updated: int = 0
    checkpoint: bool = False
    on_hold: bool = False
    audited: int = 0
    digest: str = GENESIS
    turns: set[str] = field(default_factory=set)
    whole: set[str] = field(default_factory=set)
    asked: dict[str, QuestionFacts] = field(default_factory=dict)

    def copy(self) -> "ThreadFacts":
        """To be changed by a step that may fail."""
        return replace(self, turns=set(self.turns), whole=set(self.whole), asked=dict(self.asked))

    def of_step(
        self,
        keys: ThreadKeys,
        ids: Iterable[str],
        person: Rename,
        approvals: Container[str] = (),
    ) -> StepFacts:
        """Make the facts of a step with these interrupts; its script looks at leases.

        `approvals` are ids of those that are stored.
        """
        stored = ((interrupt_id, self.asked.get(interrupt_id)) for interrupt_id in ids)
        facts = StepFacts(keys.scope.scope, keys.id, exists=self.exists, person=person)
        facts.owner, facts.agent, facts.holder = self.owner, self.agent, self.holder
        facts.revision, facts.fence = self.revision, self.fence
        facts.turn, facts.turns = self.turn, self.turns
        facts.on_hold = self.on_hold
        facts.interrupts = {name: seen(row.interrupt) for name, row in stored if row is not None}
        facts.audited, facts.digest = self.audited, self.digest
        facts.approvals = approvals
        return facts

    def of_newest_turn(self) -> list[Interrupt]:
        """The interrupts of the newest turn."""
        return [
            question.interrupt
            for question in self.asked.values()
            if question.interrupt.turn_key == self.turn
        ]

    def waits(self) -> list[Interrupt]:
        """Those of the newest turn that nobody has answered."""
        return [i for i in self.of_newest_turn() if i.status == "open" and i.held is None]

    def open(self) -> int:
        """How many of the newest turn are open, as lists count them."""
        return sum(i.status == "open" and not is_call(i) for i in self.of_newest_turn())

    @classmethod
    def read(cls, reply: Sequence[Any], turns: Sequence[str], way: Passage) -> "ThreadFacts":
        """From the answer of `read.lua`, asked for those turns."""
        members, last, has, found = reply
        values = ["" if value is None else value.decode() for value in members[:11]]
        number, owner, agent, revision, fence, holder, turn, status, listed, active, updated = (
            values
        )
        audited, digest = 0, GENESIS
        if last:
            (at, (_, row)) = last[0]
            audited, digest = int(at.partition(b"-")[0]), orjson.loads(row)[-1]
        asked = [QuestionFacts.of(value, way) for value in found[1::2]]
        facts = cls(
            exists=members[3] is not None,
            audited=audited,
            digest=digest,
            turns={key for key, is_known in zip(turns, has, strict=True) if is_known},
            whole=set(turns),
            asked={question.interrupt.id: question for question in asked},
        )
        if facts.exists:
            facts.number, facts.revision, facts.fence = int(number), int(revision), int(fence)
            facts.owner, facts.agent = owner, agent
            facts.holder = None if members[5] is None else holder
            facts.turn, facts.status, facts.listed = turn, status, listed
            facts.active, facts.updated = int(active), int(updated)
            facts.checkpoint = members[11] is not None
            facts.on_hold = members[12] is not None
            facts.turns.add(turn)
            facts.whole.add(turn)
        return facts


def read_arguments(
    keys: ThreadKeys, turns: Sequence[str], ids: Iterable[str]
) -> tuple[list[str], list[Any]]:
    """Keys and arguments of `read.lua`."""
    kinds = ("thread", "turns", "interrupts", "asked")
    return [*map(keys.of, kinds), keys.trail("audit")], [len(turns), *turns, *ids]
