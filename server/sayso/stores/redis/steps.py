"""The rows of a step as operations of its script."""

from collections.abc import Iterable, Sequence
from typing import Any

from sayso.base.records import Approval, ApprovalUse, Commit, Message
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


def delete(batch: ScriptBatch, writes: Writes, read: Sequence[Any], own: dict[str, bytes]) -> None:
    """Remove a thread; `read` is what `deletion_reads` gave, `own` its approvals."""
    keys, scope = batch.keys, batch.keys.scope
    interrupts, turns, runs, _, used = read
    batch.due(None)
    batch.hide()
    for value in interrupts:
        batch.unlist(QuestionFacts.of(value))
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


def _history(batch: ScriptBatch, writes: Writes) -> None:
    """Write turns, the run, messages and entries."""
    keys, known = batch.keys, batch.known
    if writes.drops_journals:
        batch.do("DEL", keys.of("journal"))
    known.turn = writes.turn
    for turn in writes.turns:
        batch.do("HSET", keys.of("turns"), turn.key, TURNS.pack(turn))
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
    for entry in writes.entries:
        field = prefixed(writes.entries_of or "") + entry.place
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
        members["state"] = b"{}"
    if writes.lease_ms is not None:
        members["agent"] = writes.agent
    if writes.state is not None:
        members["state"] = writes.state
    if writes.kept is not None:
        members["kept"] = writes.kept
    if writes.turns or writes.questions:
        members |= {"turn": known.turn or "", "status": known.status or "", "open": known.open()}
    batch.members(members)


def _messages(batch: ScriptBatch, how: str, messages: Iterable[Message]) -> None:
    for message in messages:
        batch.do(
            how,
            batch.keys.of("messages"),
            batch.key(batch.keys.of("waiting")),
            message.id,
            message.visibility[0],
            MESSAGES.pack(message),
        )


def _approvals(batch: ScriptBatch, given: Iterable[Approval], uses: Iterable[ApprovalUse]) -> None:
    keys, scope = batch.keys, batch.keys.scope
    for row in given:
        batch.do(
            "approve",
            scope.of("approvals"),
            batch.key(scope.of("given")),
            batch.key(scope.one("tool", prefixed(row.owner) + row.tool)),
            "" if row.thread_id is None else batch.key(scope.one("own", row.thread_id)),
            row.id,
            moment(row.given_at),
            APPROVALS.pack(row),
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
