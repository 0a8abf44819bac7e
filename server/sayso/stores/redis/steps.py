"""The steps that change a thread, each planned on what is known of it."""

from collections.abc import Iterable, Sequence
from typing import Any

from sayso.base.audit import rows_of_deletion, rows_of_entries
from sayso.base.records import (
    Approval,
    ApprovalUse,
    Claim,
    Commit,
    Entry,
    Message,
    Update,
)
from sayso.stores.redis.facts import QuestionFacts, ThreadFacts
from sayso.stores.redis.keys import ThreadKeys
from sayso.stores.redis.plan import Plan
from sayso.stores.redis.rows import APPROVALS, ENTRIES, MESSAGES, moment, prefixed

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


def claim(keys: ThreadKeys, known: ThreadFacts, wanted: Claim) -> Plan:
    """Take a thread and write what the claim holds; `number` is known of a new one as well."""
    plan = Plan(keys, known, "take" if known.exists else "new", lease_ms=wanted.lease_ms)
    now = plan.known
    if not known.exists:
        now.owner = wanted.owner
        plan.members(number=f"{now.number:016d}", owner=wanted.owner, created=wanted.now)
        plan.members(state=b"{}")
    now.agent, now.holder, now.updated = wanted.agent, wanted.holder, wanted.now
    plan.members(agent=wanted.agent, updated=wanted.now)
    if wanted.state is not None:
        plan.members(state=wanted.state)
    plan.turn(wanted.turn)
    plan.run(wanted.run)
    messages = keys.of("messages")
    for message_id in wanted.hide:
        plan.do("hide", messages, message_id)
    _messages(plan, "append", wanted.messages)
    notes, events = plan.interrupts(wanted.interrupts)
    _entries(plan, wanted.turn.key, wanted.entries)
    plan.seal(wanted.now, [*rows_of_entries(wanted.entries), *events])
    plan.note(wanted.now, notes, wanted.run)
    plan.members(status=now.status, open=now.open())
    plan.show(wanted.now)
    plan.due("abandoned")
    return plan


def commit(keys: ThreadKeys, known: ThreadFacts, step: Commit) -> Plan:
    """Write one step of the holder."""
    plan = Plan(keys, known, "hold")
    now = plan.known
    now.updated = step.now
    plan.members(updated=step.now)
    if step.turn is not None:
        plan.turn(step.turn)
    turn_key = step.turn.key if step.turn is not None else now.turn
    if turn_key is not None:
        _entries(plan, turn_key, step.entries)
    _messages(plan, "put", step.messages)
    if step.dequeue:
        plan.do("dequeue", keys.of("messages"), plan.key(keys.of("waiting")))
    notes, events = plan.interrupts(step.interrupts)
    plan.seal(step.now, [*rows_of_entries(step.entries), *events])
    if step.state is not None:
        plan.members(state=step.state)
    if step.next_turn is not None:
        plan.turn(step.next_turn)
    if step.run is not None:
        plan.run(step.run)
    if step.forget is not None:
        plan.do("forget", keys.of("journal"), prefixed(step.forget))
    _approvals(plan, step.approvals, step.uses)
    if step.turn is not None or step.next_turn is not None or step.interrupts:
        plan.members(status=now.status or "", open=now.open())
    plan.note(step.now, notes, step.run)
    if step.release:
        now.holder = None
        plan.do("HDEL", keys.of("thread"), "holder", "until", "stopping")
        plan.show(step.now)
        plan.idle()
    else:
        plan.show()
    return plan


def update_idle(keys: ThreadKeys, known: ThreadFacts, update: Update) -> Plan:
    """Change an idle thread."""
    plan = Plan(keys, known, "idle")
    now = plan.known
    now.updated = update.now
    plan.members(updated=update.now)
    notes, events = plan.interrupts(update.interrupts, update.by)
    plan.seal(update.now, [*rows_of_entries(update.entries), *events])
    if now.turn is not None:
        _entries(plan, now.turn, update.entries)
    if update.state is not None:
        plan.members(state=update.state)
    plan.members(open=now.open())
    plan.note(update.now, notes)
    plan.show(update.now)
    plan.idle()
    return plan


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
    keys: ThreadKeys,
    known: ThreadFacts,
    read: Sequence[Any],
    own: dict[str, bytes],
    at: int,
    by: str | None,
) -> Plan:
    """Remove a thread; `read` is what `deletion_reads` gave, `own` its approvals."""
    plan = Plan(keys, known, "gone")
    scope = keys.scope
    interrupts, turns, runs, _, used = read
    plan.due("")
    plan.hide()
    for value in interrupts:
        plan.unlist(QuestionFacts.of(value))
    for index, names in (("by_turn", turns), ("by_run", runs)):
        for name in names:
            plan.do("hdelif", scope.of(index), name, keys.id)
    for member in used:
        length, _, rest = member.decode().partition(":")
        approval_id = rest.encode()[: int(length)].decode()
        call_id = rest.encode()[int(length) :].decode()
        uses, newest = scope.one("uses", approval_id), scope.one("newest", approval_id)
        plan.do("unuse", uses, plan.key(newest), call_id)
    for approval_id, value in own.items():
        row = APPROVALS.unpack(value, 36)
        place = value[:36] + f"|{approval_id}".encode()
        plan.do("ZREM", scope.of("given"), place)
        plan.do("ZREM", scope.one("tool", prefixed(row.owner) + row.tool), place)
        plan.do("HDEL", scope.of("approvals"), approval_id)
        plan.do("DEL", scope.one("uses", approval_id))
        plan.do("DEL", scope.one("newest", approval_id))
    plan.do("floor", scope.of("floor"))
    for kind in _OF_THREAD:
        plan.do("DEL", keys.of(kind))
    plan.seal(at, [rows_of_deletion(by)])
    plan.note(at, [("deleted", None, None)])
    return plan


def _entries(plan: Plan, turn_key: str, entries: Iterable[Entry]) -> None:
    for entry in entries:
        field = prefixed(turn_key) + entry.place
        plan.do("entry", plan.keys.of("journal"), field, ENTRIES.pack(entry))


def _messages(plan: Plan, how: str, messages: Iterable[Message]) -> None:
    for message in messages:
        plan.do(
            how,
            plan.keys.of("messages"),
            plan.key(plan.keys.of("waiting")),
            message.id,
            message.visibility[0],
            MESSAGES.pack(message),
        )


def _approvals(plan: Plan, given: Iterable[Approval], uses: Iterable[ApprovalUse]) -> None:
    keys, scope = plan.keys, plan.keys.scope
    for row in given:
        plan.do(
            "approve",
            scope.of("approvals"),
            plan.key(scope.of("given")),
            plan.key(scope.one("tool", prefixed(row.owner) + row.tool)),
            "" if row.thread_id is None else plan.key(scope.one("own", row.thread_id)),
            row.id,
            moment(row.given_at),
            APPROVALS.pack(row),
        )
    for use in uses:
        plan.do(
            "use",
            scope.one("uses", use.approval_id),
            plan.key(scope.one("newest", use.approval_id)),
            plan.key(keys.scope.one("used", use.thread_id)),
            prefixed(use.approval_id) + use.call_id,
            use.call_id,
            moment(use.at),
            use.thread_id,
        )
