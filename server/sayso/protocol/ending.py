"""How runs end, and what their readers can take.

Pure. An ending is kept with its run and told to each reader in the words that it understands.
"""

import re
from dataclasses import dataclass
from typing import Any, Literal, Self

import orjson

from sayso import jsonvalue
from sayso.errors import Code
from sayso.protocol import frames
from sayso.protocol.legacy import asking
from sayso.protocol.peers import Peer

__all__ = ["STOPPED", "Ending", "EndingType", "outcome_type"]

STOPPED = "The run was stopped."
"""What is said of a cancelled run when nothing else is known."""

EndingType = Literal["success", "interrupt", "cancelled", "error"]

_TYPE = re.compile(rb'\{"type":"([a-z]+)"')


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How a run ends. `interrupts` and `result` are JSON values as they go out.

    `pending` are the ids of the tool calls that a success leaves to the client (TC-12). `code`,
    `message` and `details` (shown as `metadata.sayso`) are those of an error; a cancelled
    run has a `message` too, which says why, and a success that only looks at a thread has
    `details` of the run that failed last. `usage` is
    what the models of this run cost; it is told once and not kept, as a replay costs nothing
    (US-05). `goes_on`: only this body ends, the run does so later or elsewhere; it is not kept.
    ValueError for an ending that the protocol has no words for (OU-04, OU-06).
    """

    type: EndingType
    interrupts: tuple[bytes, ...] = ()
    result: bytes | None = None
    pending: tuple[str, ...] = ()
    code: str | None = None
    message: str | None = None
    details: dict[str, Any] | None = None
    usage: tuple[dict[str, Any], ...] = ()
    goes_on: bool = False

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
    def waits(self) -> bool:
        """Whether the turn is not over: it waits for people, or for the client's own tools."""
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

    def last_frames(self, thread_id: str, run_id: str, peer: Peer) -> bytes:
        """The terminal frame for one reader, after those that ask it by event if it wants that.

        `cancelled` is fatal to clients before 1.0, so they get RUN_ERROR with code `abort`, which
        they show as a stop and not as a failure (OC-03). One that `finishes` gets a RUN_FINISHED
        without an outcome instead, and before the RUN_ERROR of a failure (LC-04, LC-15). Never
        raises: an ending that has no frame becomes a RUN_ERROR that says so.
        """
        try:
            return self._last_frames(thread_id, run_id, peer)
        except (TypeError, ValueError):
            return _released(thread_id, run_id, peer) + frames.run_error(
                Code.INTERNAL_ERROR.value,
                "The run ended, but its outcome is too large or has no JSON form.",
                None,
            )

    def _last_frames(self, thread_id: str, run_id: str, peer: Peer) -> bytes:
        if self.type == "error":
            failed = frames.run_error(self.code, self.message or "", self.details, self.usage)
            return _released(thread_id, run_id, peer) + failed
        told: dict[str, Any] | None = None
        if self.type == "success" and peer.versioned:
            told = self.details
        if self.type == "cancelled":
            message = self.message or STOPPED
            told = {"message": message}
            if not peer.versioned and peer.finishes:
                return frames.run_finished(thread_id, run_id, None, None, self.usage, told)
            if not peer.versioned:
                return frames.run_error(Code.ABORT.value, message, None, self.usage)
        outcome: bytes | None = b'{"type":"%b"}' % self.type.encode()
        asked = b""
        if self.interrupts:
            shown = self.interrupts
            if not peer.expiry:
                shown = tuple(map(_without_expiry, shown))
            outcome = b'{"type":"interrupt","interrupts":[%b]}' % b",".join(shown)
            if peer.interrupts != "standard":
                asked = b"".join(asking(one, peer.value) for one in shown)
            if peer.interrupts == "legacy":
                outcome = None
        elif self.pending and peer.versioned:
            # Fatal to clients before 1.0, which derive it from the stream as all may (TC-13).
            ids = orjson.dumps(self.pending)
            outcome = b'{"type":"success","pendingToolCallIds":%b}' % ids
        return asked + frames.run_finished(
            thread_id, run_id, outcome, self.result, self.usage, told
        )


def outcome_type(outcome: bytes | None) -> str | None:
    """The type of a run's outcome; None while there is none."""
    if outcome is None:
        return None
    if (begins := _TYPE.match(outcome)) is not None:
        return begins[1].decode()  # an outcome with a hundred questions is not read for its type
    value = jsonvalue.decode(outcome)
    kind = value.get("type") if isinstance(value, dict) else None
    return kind if isinstance(kind, str) else None


def _released(thread_id: str, run_id: str, peer: Peer) -> bytes:
    """What makes a reader let go of the questions it has answered; nothing to all others."""
    return frames.run_finished(thread_id, run_id, None, None) if peer.finishes else b""


def _without_expiry(interrupt: bytes) -> bytes:
    if b'"expiresAt"' not in interrupt:
        return interrupt
    body = jsonvalue.decode(interrupt)
    body.pop("expiresAt", None)
    return jsonvalue.encode(body)
