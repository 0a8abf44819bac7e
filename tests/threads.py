"""Requests and threads in few words, for tests of what decides over them."""

from collections.abc import Iterable
from typing import Any, Literal

import orjson

from sayso.base.records import Interrupt, Message, Principal, Run, Thread, ThreadView, TurnRecord
from sayso.protocol.runinput import ResumeEntry, RunInput

NOW = 1_800_000_000_000
ALICE = Principal(subject="alice")

Status = Literal["running", "suspended", "finished", "failed", "cancelled"]


def message(
    identifier: str,
    role: str = "user",
    visibility: Literal["visible", "hidden", "waiting"] = "visible",
    **members: Any,
) -> Message:
    """A message; `members` are those of its JSON object beside id and role."""
    if "content" not in members and role != "assistant":
        members["content"] = f"text of {identifier}"
    body = orjson.dumps({"id": identifier, "role": role, **members})
    return Message(id=identifier, role=role, body=body, visibility=visibility)


def calling(identifier: str, *calls: str, **members: Any) -> Message:
    """An assistant message that calls tools."""
    made = [
        {"id": call, "type": "function", "function": {"name": "f", "arguments": "{}"}}
        for call in calls
    ]
    return message(identifier, "assistant", toolCalls=made, **members)


def result(identifier: str, call: str, **members: Any) -> Message:
    """A tool message that answers a call."""
    return message(identifier, "tool", toolCallId=call, **members)


def yes(identifier: str, payload: Any = None, **members: Any) -> ResumeEntry:
    """A `resolved` entry."""
    return ResumeEntry(interrupt_id=identifier, status="resolved", payload=payload, **members)


def no(identifier: str, **members: Any) -> ResumeEntry:
    """A `cancelled` entry."""
    return ResumeEntry(interrupt_id=identifier, status="cancelled", **members)


def request(*resume: ResumeEntry, messages: Iterable[Message] = (), run_id: str = "r2") -> RunInput:
    """A request on thread `t`."""
    return RunInput(thread_id="t", run_id=run_id, messages=tuple(messages), resume=resume)


def asked(identifier: str, *, turn: str = "turn_1", **members: Any) -> Interrupt:
    """An open interrupt; `schema=` gives its response schema as a value."""
    schema = members.pop("schema", None)
    members.setdefault("reason", "input_required")
    return Interrupt(
        id=identifier,
        turn_key=turn,
        place=f"0/{identifier}",
        created_at=NOW - 1_000,
        response_schema=None if schema is None else orjson.dumps(schema),
        **members,
    )


def settled(
    identifier: str,
    status: Literal["resolved", "cancelled", "expired"] = "resolved",
    payload: Any = None,
    **members: Any,
) -> Interrupt:
    """A settled interrupt; alice decided unless it expired."""
    if status != "expired" and "decided_by" not in members:
        members.setdefault("decided_by", "alice")
        members.setdefault("decided_at", NOW - 500)
    return asked(
        identifier,
        status=status,
        payload=None if payload is None else orjson.dumps(payload),
        **members,
    )


def thread(
    status: Status = "suspended",
    *interrupts: Interrupt,
    messages: Iterable[Message] = (),
    held: bool = False,
    delivered: bool = True,
    named: bool = False,
    agent: str = "a",
) -> ThreadView:
    """A thread whose newest turn is `turn_1` with run `r1`; `named`: the request's run is it."""
    run = Run(
        key="run_1", run_id="r1", turn_key="turn_1", started_at=NOW - 2_000, delivered=delivered
    )
    return ThreadView(
        thread=Thread(
            scope="default",
            id="t",
            owner="alice",
            agent=agent,
            revision=3,
            fence=1,
            created_at=NOW - 9_000,
            updated_at=NOW - 1_000,
            holder="h" if held else None,
            lease_until=NOW + 9_000 if held else None,
        ),
        turn=TurnRecord(
            key="turn_1",
            agent=agent,
            version="1",
            status="running" if held else status,
            request=b"{}",
            principal=ALICE,
            started_at=NOW - 2_000,
        ),
        run=run,
        named_run=run if named else None,
        interrupts=interrupts,
        messages=tuple(messages),
    )
