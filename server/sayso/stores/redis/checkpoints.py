"""Checkpoints that others may read: one key with JSON for a thread, as long as it waits.

    GET checkpoint:{session_id}
    {"session_id", "agent", "reason", "prompt", "interrupt_id", "asked_at", "expires_at",
     "history": [messages as on the wire], "tool_stack": [{"id", "name", "args"}],
     "open": [{"interrupt_id", "reason", "prompt"}]}

It is written, and goes, in the step that makes a thread wait or ends that; nothing is read of it.
That one is there is a member of its thread, so whoever ends the wait takes it away, also a process
that shows none by itself.
"""

from typing import Any

from sayso.base import jsonvalue
from sayso.base.records import Interrupt, Principal
from sayso.stores.redis.batch import ScriptBatch
from sayso.stores.redis.keys import ThreadKeys
from sayso.stores.step import expiries

_PLAIN = Principal().scope
"""The scope whose sessions have the plain name."""


def key_of(keys: ThreadKeys) -> str:
    """The key of a session; a tenant's stays among the tenant's own."""
    scope = keys.scope
    if scope.scope == _PLAIN:
        return f"checkpoint:{keys.id}"
    return scope.one("checkpoint", keys.id)


def show(batch: ScriptBatch, at: int) -> None:
    """Write what waits in an idle thread until it expires, or take away what waits no more."""
    facts, keys = batch.known, batch.keys
    waits = facts.waits() if facts.status == "suspended" else []
    ends = expiries(waits)
    lasts = min(ends) - at if ends else None
    if not waits or (lasts is not None and lasts <= 0):
        remove(batch)
        return
    first = waits[0]
    head = jsonvalue.encode(
        {
            "session_id": keys.id,
            "agent": facts.agent,
            "reason": first.reason,
            "prompt": first.message,
            "interrupt_id": first.id,
            "asked_at": first.created_at,
            "expires_at": min(ends, default=None),
        }
    )
    tail = jsonvalue.encode(
        {
            "tool_stack": list({call["id"]: call for i in waits for call in _calls(i)}.values()),
            "open": [
                {"interrupt_id": i.id, "reason": i.reason, "prompt": i.message} for i in waits
            ],
        }
    )
    batch.members({"checkpoint": 1})
    facts.checkpoint = True
    batch.do(
        "checkpoint",
        key_of(keys),
        batch.key(keys.of("messages")),
        head[:-1] + b',"history":[',
        b"]," + tail[1:],
        "" if lasts is None else lasts,
    )
    lifetime = "for ever" if lasts is None else f"for {lasts / 1_000:g} s"
    batch.said = f"checkpoint of session {keys.id!r} saved {lifetime}: {first.reason}"


def remove(batch: ScriptBatch) -> None:
    """Nothing waits any more."""
    if not batch.before.checkpoint:
        return
    batch.do("DEL", key_of(batch.keys))
    batch.do("HDEL", batch.keys.of("thread"), "checkpoint")
    batch.known.checkpoint = False
    if batch.before.status == "suspended":
        batch.said = f"checkpoint of session {batch.keys.id!r} taken"


def _calls(interrupt: Interrupt) -> list[dict[str, Any]]:
    """The calls that it was asked in, from the outside in, and the one that waits for it."""
    value = None if interrupt.metadata is None else jsonvalue.decode(interrupt.metadata)
    shown = value.get("sayso") if isinstance(value, dict) else None
    told: dict[str, Any] = shown if isinstance(shown, dict) else {}
    found = [
        {"id": call["id"], "name": call["name"], "args": call["arguments"]}
        for call in told.get("within", ())
    ]
    if interrupt.tool_call_id is not None:
        name, arguments = told.get("tool", told.get("name")), told.get("arguments")
        found.append({"id": interrupt.tool_call_id, "name": name, "args": arguments})
    return found
