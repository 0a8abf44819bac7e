"""A turn as it is when its code is entered: read from the store, and decoded once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from sayso.base import jsonvalue
from sayso.base.breakpoints import Breakpoints, effective
from sayso.base.limits import Limits
from sayso.base.options import AgentOptions
from sayso.base.records import Entry, Interrupt, Message, TurnRecord
from sayso.turns.input import History, TurnInput
from sayso.turns.journal.journal import (
    Journal,
    is_copied,
    is_mark,
    key_origins,
    origins,
    pauses,
    recorded_by,
)
from sayso.turns.journal.kept import Kept
from sayso.turns.journal.state import TurnState
from sayso.turns.output.transcript import Transcript


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OpenTurn:
    """One turn, with all that was recorded of it."""

    record: TurnRecord
    input: TurnInput
    resume_inputs: Sequence[TurnInput | None]
    """For each pause what the turn was resumed with; None from the inbox, or for none yet."""
    pauses: Sequence[int]
    """For each pause the number of effects that had ended by then."""
    journal: Journal
    marks: Sequence[Entry]
    """Of which turn this is a copy or a repetition, and what was decided there."""
    interrupts: Mapping[str, Interrupt]
    state: TurnState
    transcript: Transcript
    kept: Kept
    secrets: Mapping[str, bytes]
    """What is kept apart from the answers, by the ids that stand there."""
    options: AgentOptions
    breakpoints: Sequence[Breakpoints]
    """Those of the agent's options, and those of the requests; empty if nobody has set any."""
    looks: bool = False
    """It goes through the journal and no further; nothing is written, or begun."""

    @classmethod
    def read(
        cls,
        record: TurnRecord,
        entries: Sequence[Entry],
        *,
        thread_id: str,
        history: list[Message],
        waiting: Sequence[Message],
        interrupts: Sequence[Interrupt],
        options: AgentOptions,
        limits: Limits,
        begun: TurnInput | None = None,
        looks: bool = False,
        kept: bytes | None = None,
        secrets: Mapping[str, bytes] = MappingProxyType({}),
    ) -> "OpenTurn":
        """Decode a turn; `history` is the list that it extends, `waiting` wait for its end.

        `begun` is what a turn begins with that begins now, with all messages that there are;
        `kept` what the thread keeps.
        """
        marks = [entry for entry in entries if is_mark(entry)] if entries else []
        copied = is_copied(marks) if marks else False
        paused = [jsonvalue.decode(entry.data) for entry in pauses(marks)] if marks else []
        messages = [*history, *waiting]
        if begun is None:
            stored = jsonvalue.decode(record.request)
            count: int = stored["history"]
            turn_input = TurnInput.from_json(thread_id, stored, messages)
        else:
            count = len(messages)
            turn_input = replace(begun, history=History(messages))
        resumed = [
            TurnInput.from_json(thread_id, pause["request"], ()) if "request" in pause else None
            for pause in paused
        ]
        props = [
            request.forwarded_props for request in (turn_input, *resumed) if request is not None
        ]
        breakpoints: Sequence[Breakpoints] = ()
        if options.breakpoints is not None or any(props):
            allowed = options.run_breakpoints == "allow"
            breakpoints = effective(options.breakpoints, allowed, props)
        return cls(
            record=record,
            input=turn_input,
            resume_inputs=resumed,
            pauses=[pause["ended"] for pause in paused],
            journal=Journal(
                (entry for entry in entries if not is_mark(entry)) if marks else entries,
                origins(entries) if copied else None,
                key_origins(entries) if copied else None,
                list(recorded_by(entries)) if marks else [],
            ),
            marks=marks,
            interrupts={interrupt.id: interrupt for interrupt in interrupts},
            state=TurnState(turn_input.state, paused),
            transcript=Transcript(history, count, limits.history),
            kept=Kept(kept, record.key, again=any(mark.kind == "again" for mark in marks)),
            secrets=secrets,
            options=options,
            breakpoints=breakpoints,
            looks=looks,
        )

    def lost(self) -> str | None:
        """The place of a question that is not in the journal; None if none is missing.

        Entered all the same, the code would do again what had been done before (L6).
        """
        for interrupt in self.interrupts.values():
            if interrupt.turn_key == self.record.key and self.journal.lacks(interrupt.place):
                return interrupt.place
        return None
