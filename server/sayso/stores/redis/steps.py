"""The rows of a step as operations of its script."""

from collections.abc import Iterable, Sequence
from typing import Any

from sayso.base.records import Approval, ApprovalUse, Commit, Message
from sayso.base.secretvalues import check_kept
from sayso.stores.redis.batch import Argument, ScriptBatch
from sayso.stores.redis.facts import QuestionFacts
from sayso.stores.redis.keys import ThreadKeys
from sayso.stores.redis.rows import (
    APPROVALS,
    ENTRIES,
    MESSAGES,
    TURNS,
    moment,
    place,
    prefixed,
)
from sayso.stores.sealing import Passage
from sayso.stores.step import Writes, need_of

_OF_THREAD = (
    "thread",
    "turns",
    "runs",
    "order",
    "names",
    "messages",
    "waiting",
    "journal",
    "interrupts",
    "asked",
    "own",
    "used",
    "secrets",
)
"""What ends with a thread; its audit trail stays."""


def turns_of(step: Commit, newest: str | None) -> list[str]:
    """The turns that a step writes beside the newest."""
    written = (step.turn, step.next_turn)
    return [turn.key for turn in written if turn is not None and turn.key != newest]


def write(batch: ScriptBatch, writes: Writes) -> None:
    """Write the rows of a claim, a commit or an update; `number` is known of a new thread."""
    keys, known = batch.keys, batch.known
    known.owner, known.agent, known.holder = writes.owner, writes.agent, writes.holder
    known.updated = writes.now
    _history(batch, writes)
    for interrupt, _ in writes.questions:
        batch.question(interrupt)
    batch.audit(writes.now, writes.audit)
    if writes.forget is not None:
        batch.do("forget", keys.of("journal"), prefixed(writes.forget))
    _secrets(batch, writes)
    _approvals(batch, writes.approvals, writes.uses)
    _members(batch, writes)
    batch.note(writes.now, writes.notes)
    batch.is_told = writes.is_told
    batch.show(writes.now if writes.is_active else None)
    if writes.lets_go:
        batch.do("HDEL", keys.of("thread"), "holder", "until", "stopping")
        batch.due(need_of(known.status, known.waits(), writes.now))
    elif writes.lease_ms is not None:
        batch.due_at_lease_end()


def deletion_reads(keys: ThreadKeys) -> list[tuple[Any, ...]]:
    """The commands whose answers `delete` is planned on, beside what is known of the thread."""
    return [
        ("HVALS", keys.of("interrupts")),
        ("HKEYS", keys.of("turns")),
        ("HKEYS", keys.of("runs")),
        ("SMEMBERS", keys.of("own")),
        ("SMEMBERS", keys.of("used")),
    ]


def delete(
    batch: ScriptBatch,
    writes: Writes,
    read: Sequence[Any],
    own: dict[str, bytes],
    way: Passage,
) -> None:
    """Remove a thread.

    `read` is what `deletion_reads` gave, `own` its approvals,
    `way` that of its texts out of the store.
    """
    keys, scope = batch.keys, batch.keys.scope
    interrupts, turns, runs, _, used = read
    batch.due(None)
    batch.hide()
    for value in interrupts:
        batch.unlist(QuestionFacts.of(value, way))
    for index, names in (("by_turn", turns), ("by_run", runs)):
        for name in names:
            batch.do("hdelif", scope.of(index), name, keys.id)
    for member in used:
        length, _, rest = member.decode().partition(":")
        approval_id = rest.encode()[: int(length)].decode()
        call_id = rest.encode()[int(length) :].decode()
        uses, newest = scope.one("uses", approval_id), scope.one("newest", approval_id)
        batch.do("unuse", uses, batch.key(newest), call_id)
    for approval_id, value in own.items():
        row = APPROVALS.unpack(value, 36)
        place = value[:36] + f"|{approval_id}".encode()
        batch.do("ZREM", scope.of("given"), place)
        batch.do("ZREM", scope.one("tool", prefixed(row.owner) + row.tool), place)
        batch.do("HDEL", scope.of("approvals"), approval_id)
        batch.do("DEL", scope.one("uses", approval_id))
        batch.do("DEL", scope.one("newest", approval_id))
    batch.do("floor", scope.of("floor"))
    for kind in _OF_THREAD:
        batch.do("DEL", keys.of(kind))
    batch.audit(writes.now, writes.audit)
    batch.note(writes.now, writes.notes)
    batch.is_told = writes.is_told


def hold(batch: ScriptBatch, writes: Writes, hold: bytes | None) -> None:
    """Put a thread on hold, or lift that."""
    members = batch.keys.of("thread")
    if hold is None:
        batch.do("HDEL", members, "hold")
    else:
        batch.do("HSET", members, "hold", batch.way.one("thread.hold", "", hold))
    batch.do("HSET", members, "updated", writes.now)
    batch.audit(writes.now, writes.audit)


def _history(batch: ScriptBatch, writes: Writes) -> None:
    """Write turns, the run, messages and entries."""
    keys, known = batch.keys, batch.known
    if writes.drops_journals:
        batch.do("forget", keys.of("journal"), "")
    known.turn = writes.turn
    for turn in writes.turns:
        batch.do("keep", keys.of("turns"), turn.key, TURNS.pack(batch.way.turn(turn)))
        if turn.key in writes.new_turns:
            known.turns.add(turn.key)
            batch.do("HSET", keys.scope.of("by_turn"), turn.key, keys.id)
        if turn.key == known.turn:
            known.status = turn.status
    if writes.run is not None:
        batch.run(writes.run)
    for message_id in writes.hide:
        batch.do("hide", keys.of("messages"), message_id)
    _messages(batch, "append", writes.appended)
    turn_key = writes.entries_of or ""
    for entry in batch.way.entries(turn_key, writes.entries):
        field = prefixed(turn_key) + entry.place
        batch.do("entry", keys.of("journal"), field, ENTRIES.pack(entry))
    _messages(batch, "put", writes.messages)
    if writes.dequeue:
        batch.do("dequeue", keys.of("messages"), batch.key(keys.of("waiting")))


def _members(batch: ScriptBatch, writes: Writes) -> None:
    """Write the thread itself, as it is known by now."""
    known = batch.known
    members: dict[str, Argument] = {"updated": writes.now}
    if writes.mode == "new":
        members |= {"number": place(known.number), "owner": known.owner, "created": writes.now}
    state = b"{}" if writes.mode == "new" and writes.state is None else writes.state
    for name, value in (("state", state), ("kept", writes.kept)):
        if value is not None:
            kept = batch.way.one(f"{name}.body", "", value)
            batch.do("keep", batch.keys.of("thread"), name, kept)
    if writes.lease_ms is not None:
        members["agent"] = writes.agent
    if writes.turns or writes.questions:
        members |= {"turn": known.turn or "", "status": known.status or "", "open": known.open()}
    batch.members(members)


def _messages(batch: ScriptBatch, how: str, messages: Iterable[Message]) -> None:
    for message in batch.way.messages([*messages]):
        batch.do(
            how,
            batch.keys.of("messages"),
            batch.key(batch.keys.of("waiting")),
            message.id,
            message.visibility[0],
            MESSAGES.pack(message),
        )


def _secrets(batch: ScriptBatch, writes: Writes) -> None:
    """Write values that are kept apart; where there is no codec there are none."""
    if writes.secrets:
        check_kept(sealed=batch.seals.codec is not None)
    if batch.seals.codec is None:
        return
    if writes.drops_secrets:
        batch.do("DEL", batch.keys.of("secrets"))
    for value in map(batch.way.secret, writes.secrets):
        batch.do("HSET", batch.keys.of("secrets"), value.id, value.body)


def _approvals(batch: ScriptBatch, given: Iterable[Approval], uses: Iterable[ApprovalUse]) -> None:
    keys, scope = batch.keys, batch.keys.scope
    for row in given:
        way = batch.seals.into(scope.scope, row.thread_id or "")
        batch.do(
            "approve",
            scope.of("approvals"),
            batch.key(scope.of("given")),
            batch.key(scope.one("tool", prefixed(row.owner) + row.tool)),
            "" if row.thread_id is None else batch.key(scope.one("own", row.thread_id)),
            row.id,
            moment(row.given_at),
            APPROVALS.pack(way.approval(row)),
        )
    for use in uses:
        batch.do(
            "use",
            scope.one("uses", use.approval_id),
            batch.key(scope.one("newest", use.approval_id)),
            batch.key(keys.scope.one("used", use.thread_id)),
            prefixed(use.approval_id) + use.call_id,
            use.call_id,
            moment(use.at),
            use.thread_id,
        )
