"""How runs end, and what each reader is told first and last. Pure.

An ending is kept with its run and told to each reader in the words that it understands.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Self

import orjson

from sayso.base import ids, jsonvalue
from sayso.base.codes import Code
from sayso.base.records import Interrupt, Principal
from sayso.gate import rights
from sayso.gate.quorum import asks_others
from sayso.protocol import frames
from sayso.protocol.client_profile import ClientProfile
from sayso.protocol.interrupts import to_wire
from sayso.protocol.legacy import legacy_event as asked_by_event

STOPPED = "The run was stopped."
"""What is said of a cancelled run when nothing else is known."""

EndingType = Literal["success", "interrupt", "cancelled", "error"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How a run ends. `interrupts` and `result` are JSON values as they go out.

    `asked` are the interrupts themselves, for what each reader may do about them; it is not kept.
    `held` are those of the same set that are answered already: they are not asked again, and our
    own clients show them (`metadata.sayso.held`); not kept either. `pending` are the ids of the
    tool calls that a success leaves to the client (TC-12). `code`, `message` and `details` (shown
    as `metadata.sayso`) are those of an error; a cancelled run has a `message` too, which says why.
    A success that only looks at a thread has `details` of the run that failed last, an outcome that
    a refusal shows has those of the refusal. `usage` is what the models of this run cost; it is
    told once and not kept, as a replay costs nothing (US-05). `continues_elsewhere`: only this body
    ends, the run does so later or elsewhere; it is not kept.
    ValueError for an ending that the protocol has no words for (OU-04, OU-06).
    """

    type: EndingType
    interrupts: tuple[bytes, ...] = ()
    asked: tuple[Interrupt, ...] = ()
    held: tuple[Interrupt, ...] = ()
    result: bytes | None = None
    pending: tuple[str, ...] = ()
    code: str | None = None
    message: str | None = None
    details: dict[str, Any] | None = None
    usage: tuple[dict[str, Any], ...] = ()
    continues_elsewhere: bool = False
    beside: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """More members of `metadata.sayso` of questions, by id, for this ending alone."""

    def __post_init__(self) -> None:
        if (self.type == "interrupt") is not bool(self.interrupts):
            raise ValueError("an interrupt ending has at least one interrupt, no other has any")
        if self.type == "error" and not self.message:
            raise ValueError("an error ending needs a message for a person (ER-05)")
        if self.type != "success" and self.result is not None:
            raise ValueError("only a success has a result (OU-08)")
        if self.type != "success" and self.pending:
            raise ValueError("only a success names calls that are left to the client (OU-06)")

    @property
    def suspends(self) -> bool:
        """True if the turn is not over: it waits for people, or for the client's own tools."""
        return bool(self.interrupts or self.pending)

    def to_json(self) -> bytes:
        """The ending as one JSON object, for `Run.outcome`; what has no value is left out."""
        value: dict[str, Any] = {"type": self.type}
        if self.interrupts:
            value["interrupts"] = [orjson.Fragment(item) for item in self.interrupts]
        if self.result is not None:
            value["result"] = orjson.Fragment(self.result)
        if self.pending:
            value["pendingToolCallIds"] = self.pending
        for name in ("code", "message", "details"):
            if (member := getattr(self, name)) is not None:
                value[name] = member
        return jsonvalue.encode(value)

    @classmethod
    def from_json(cls, data: bytes) -> Self:
        """The ending that `to_json` wrote, as it is told again.

        Without `pending`: a run that tells of another has started no call itself (TC-12).
        """
        value = orjson.loads(data)
        return cls(
            type=value["type"],
            interrupts=tuple(jsonvalue.encode(item) for item in value.get("interrupts", ())),
            result=jsonvalue.encode(value["result"]) if "result" in value else None,
            code=value.get("code"),
            message=value.get("message"),
            details=value.get("details"),
        )

    def last_frames(self, thread_id: str, run_id: str, peer: ClientProfile) -> bytes:
        """The terminal frame for one reader, after those that ask it by event if it wants that.

        `cancelled` is fatal to clients before 1.0, so they get RUN_ERROR with code `abort`, which
        they show as a stop and not as a failure (OC-03). One that `finishes_before_error` gets a
        RUN_FINISHED without an outcome before any RUN_ERROR (LC-04, LC-15). Never raises: an ending
        that has no frame becomes a RUN_ERROR that says so.
        """
        try:
            return self._last_frames(thread_id, run_id, peer)
        except (TypeError, ValueError):
            return _released(thread_id, run_id, peer) + frames.run_error(
                Code.INTERNAL_ERROR.value,
                "The run ended, but its outcome is too large or has no JSON form.",
                None,
            )

    def _last_frames(self, thread_id: str, run_id: str, peer: ClientProfile) -> bytes:
        if self.type == "error":
            failed = frames.run_error(self.code, self.message or "", self.details, self.usage)
            return _released(thread_id, run_id, peer) + failed
        details: dict[str, Any] | None = None
        if self.type in ("success", "interrupt") and peer.speaks_v1:
            details = self.details
            if self.held and peer.reader is not None:
                details = {
                    **(details or {}),
                    "held": [_held(interrupt, peer.reader) for interrupt in self.held],
                }
        if self.type == "cancelled":
            message = self.message or STOPPED
            details = {"message": message}
            if not peer.speaks_v1:
                stopped = frames.run_error(Code.ABORT.value, message, None, self.usage)
                return _released(thread_id, run_id, peer) + stopped
        outcome: bytes | None = b'{"type":"%b"}' % self.type.encode()
        questions = b""
        if self.interrupts:
            shown = self._shown_to(peer.reader)
            if not peer.shows_expiry:
                shown = tuple(map(_without_expiry, shown))
            outcome = b'{"type":"interrupt","interrupts":[%b]}' % b",".join(shown)
            if peer.interrupts != "standard":
                questions = b"".join(
                    asked_by_event(interrupt, peer.legacy_value) for interrupt in shown
                )
            if peer.interrupts == "legacy":
                outcome = None
        elif self.pending and peer.speaks_v1:
            # Fatal to clients before 1.0, which derive it from the stream as all may (TC-13).
            ids = orjson.dumps(self.pending)
            outcome = b'{"type":"success","pendingToolCallIds":%b}' % ids
        return questions + frames.run_finished(
            thread_id, run_id, outcome, self.result, self.usage, details
        )

    def _shown_to(self, reader: Principal | None) -> tuple[bytes, ...]:
        """The questions, each with what this reader may do where others decide it."""
        if reader is None or not any(map(asks_others, self.asked)):
            return self.interrupts
        return tuple(
            # Who reads a run owns its thread; when a question expires is told beside it.
            to_wire(
                item,
                {
                    **self.beside.get(item.id, {}),
                    **rights.details_for(item, reader.subject, reader, 0),
                },
            )
            if asks_others(item)
            else written
            for item, written in zip(self.asked, self.interrupts, strict=True)
        )


def _held(item: Interrupt, reader: Principal) -> dict[str, Any]:
    body: dict[str, Any] = jsonvalue.decode(
        to_wire(item, rights.details_for(item, reader.subject, reader, 0))
    )
    return body


def suspending(
    items: Sequence[Interrupt],
    bodies: Mapping[str, bytes] | None = None,
    held: Sequence[Interrupt] = (),
    beside: Mapping[str, Mapping[str, Any]] | None = None,
) -> Ending:
    """How a run ends whose thread waits for answers; `bodies` are those that were made before.

    `beside` has more members of `metadata.sayso`, by the questions' ids.
    """
    made, more = bodies or {}, beside or {}
    return Ending(
        type="interrupt",
        interrupts=tuple(made.get(item.id) or to_wire(item, more.get(item.id)) for item in items),
        beside=more,
        asked=tuple(items),
        held=tuple(held),
    )


def _released(thread_id: str, run_id: str, peer: ClientProfile) -> bytes:
    """The frame that makes a reader release what it has answered; nothing to all others."""
    return frames.run_finished(thread_id, run_id, None, None) if peer.finishes_before_error else b""


def _without_expiry(interrupt: bytes) -> bytes:
    if b'"expiresAt"' not in interrupt:
        return interrupt
    body = jsonvalue.decode(interrupt)
    body.pop("expiresAt", None)
    return jsonvalue.encode(body)


def opening_frames(
    thread_id: str,
    run_id: str,
    peer: ClientProfile,
    messages: Iterable[bytes] | None,
    state: bytes | None,
    restated: Iterable[Mapping[str, Any]],
) -> bytes:
    """The frames of a reader who comes: its run, the snapshots given, then what is open.

    `messages` are as that reader takes them (`compat.bodies_for`). One that has answered and
    `releases_first` is told before that of a run of its own that is over: its answers are stored,
    and whatever becomes of its connection from here on, it no longer waits for anything (CK-07).
    """
    shown = []
    if peer.releases_first:
        taken = ids.new("run")
        shown.append(frames.run_started(thread_id, taken, at=peer.at))
        shown.append(frames.run_finished(thread_id, taken, b'{"type":"success"}', None))
    shown.append(frames.run_started(thread_id, run_id, peer.warnings, peer.at))
    if messages is not None:
        shown.append(frames.messages_snapshot(messages))
    if state is not None:
        shown.append(frames.state_snapshot(state))
    shown += [frames.frame(e) for e in restated if peer.subagents or not is_lifecycle(e)]
    return b"".join(shown)


def is_lifecycle(event: Mapping[str, Any]) -> bool:
    """True if it tells that an inner agent begins or ends, which not all can read (SA-12)."""
    kind: str = event["type"]
    return kind.startswith("SUBAGENT_")


def subagent_end(owner: str, ending: Ending | None) -> dict[str, Any]:
    """The last event of an inner agent that the end of its run finds at work (SA-01, SA-03).

    It waits when the run does, or continues elsewhere, and names the questions that are its own; a
    run that is over for good ends it as well.
    """
    event: dict[str, Any] = {"type": "SUBAGENT_FINISHED", "subagentRunId": owner}
    if ending is not None and not (ending.suspends or ending.continues_elsewhere):
        text = STOPPED if ending.type == "cancelled" else "The run ended before this did."
        return {"type": "SUBAGENT_ERROR", "subagentRunId": owner, "message": text}
    outcome: dict[str, Any] = {"type": "suspended"}
    mine = [
        body["id"]
        for data in (ending.interrupts if ending is not None else ())
        if owner.encode() in data and (body := jsonvalue.decode(data)).get("subagentRunId") == owner
    ]
    if mine:
        outcome["interruptIds"] = mine
    return {**event, "outcome": outcome}
