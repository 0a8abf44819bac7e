"""The context of a question, for those who decide it: the request, texts, effects and decisions.

They read part of a conversation that is not theirs, so it is cut and freed of secrets. Who read
what is in the audit trail before it leaves, once an hour for each person and question.
"""

import hashlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Final, NoReturn

from sayso.base import jsonvalue, redaction
from sayso.base.clock import format_time
from sayso.base.codes import Code
from sayso.base.errors import Problem
from sayso.base.jsonpatch import differences
from sayso.base.options import FallbackAnswer
from sayso.base.records import (
    Entry,
    Interrupt,
    InterruptFilter,
    ListedInterrupt,
    PageRequest,
    Principal,
    ThreadView,
    TurnRecord,
)
from sayso.engine.audit import AUDITOR
from sayso.engine.inbox import Inbox
from sayso.gate.client_tools import is_call
from sayso.gate.contents import calls
from sayso.gate.interrupts import as_answered
from sayso.gate.quorum import denies, may_see
from sayso.gate.rights import changes, may
from sayso.protocol.compat import as_text
from sayso.protocol.interrupts import ours_of
from sayso.stores.base import every, update_of
from sayso.turns.input import TurnInput
from sayso.turns.journal.journal import viewed_mark
from sayso.turns.services import Services, fresh

_HOUR_MS: Final = 3_600_000
_MAX_TEXTS: Final = 5
_MAX_EFFECTS: Final = 50
_MAX_CHARS: Final = 2_000
"""Characters of one text."""
_MAX_BYTES: Final = 64 * 1024
"""Bytes of the whole context."""

Json = dict[str, Any]


class Contexts:
    """Shows the context of a question to its owner, to whoever may answer it, and to auditors."""

    def __init__(self, services: Services, inbox: Inbox) -> None:
        self._store, self._clock = services.store, services.clock
        self._tools = services.tools
        self._inbox = inbox

    async def of(self, principal: Principal, interrupt_id: str) -> Json:
        """The context of one question.

        Raises:
            Problem: `unknown_interrupt`, there is none or this caller may not see it.
            Problem: `thread_busy`, its thread runs: nothing can be noted, so nothing is shown.
        """

        async def act(listed: ListedInterrupt) -> Json:
            view = await self._store.load(
                principal.scope, listed.thread_id, interrupt_ids=[interrupt_id]
            )
            if view is None or view.turn is None or view.thread.holder is not None:
                await busy(listed)
            entries = await self._store.journal(principal.scope, view.turn.key)
            shown = await self._shown(principal, listed, view, view.turn, entries)
            await self._note(principal, interrupt_id, view, entries, shown)
            return shown

        async def busy(_: ListedInterrupt) -> NoReturn:
            raise Problem(
                Code.THREAD_BUSY,
                "This thread is running: read this again when it waits or has ended.",
            )

        return await fresh(partial(self._found, principal, interrupt_id), act, exhausted=busy)

    async def _found(self, principal: Principal, interrupt_id: str) -> ListedInterrupt:
        if AUDITOR in principal.roles:
            listed = await self._store.interrupt(principal.scope, interrupt_id)
            if listed is not None and not is_call(listed.interrupt):
                return listed
        return await self._inbox.interrupt(principal, interrupt_id)

    async def _note(
        self,
        principal: Principal,
        interrupt_id: str,
        view: ThreadView,
        entries: Sequence[Entry],
        shown: Json,
    ) -> None:
        now = self._clock.now()
        mark = viewed_mark(
            interrupt_id,
            by=principal.subject,
            hour=now // _HOUR_MS,
            digest=hashlib.sha256(jsonvalue.encode(shown)).hexdigest(),
        )
        if all(entry.place != mark.place for entry in entries):
            thread = view.thread
            await self._store.update_idle(
                update_of(thread, now, entries=(mark,), by=principal.subject)
            )

    async def _shown(
        self,
        principal: Principal,
        listed: ListedInterrupt,
        view: ThreadView,
        turn: TurnRecord,
        entries: Sequence[Entry],
    ) -> Json:
        item, now = listed.interrupt, self._clock.now()
        details = ours_of(item)
        shown: Json = {
            "interruptId": item.id,
            "threadId": listed.thread_id,
            "title": _title(item),
            "asked": {
                "at": format_time(item.created_at),
                "agent": listed.agent,
                "path": details.get("path", []),
                "for": listed.owner,
            },
            "siblings": [
                {
                    "interruptId": interrupt.id,
                    "title": _title(interrupt),
                    "status": interrupt.status,
                    "may": may(interrupt, listed.owner, principal, now)
                    if interrupt.status == "open" and may_see(interrupt, listed.owner, principal)
                    else [],
                }
                for interrupt in view.interrupts
                if interrupt.turn_key == item.turn_key
                and interrupt.id != item.id
                and not is_call(interrupt)
            ],
            "earlier": await self._earlier(principal.scope, listed, details.get("tool")),
        }
        if item.expires_at is not None:
            shown["expires"] = {"at": format_time(item.expires_at), "then": _rule(item)}
        if item.turn_key != turn.key:
            return shown  # what an earlier turn has recorded is gone
        waits = turn.status == "suspended"
        turn_input = TurnInput.from_json(
            view.thread.id, jsonvalue.decode(turn.request), view.messages
        )
        said = _texts(view, turn)
        did, redacted = self._did(entries, turn.agent, _arguments(view))
        left = {"said": max(0, len(said) - _MAX_TEXTS), "did": max(0, len(did) - _MAX_EFFECTS)}
        shown |= {
            "turn": "waiting" if waits else turn.status,
            "request": {
                "text": turn_input.text[:_MAX_CHARS],
                "at": format_time(turn.started_at),
            },
            "said": [{"by": turn.agent, "text": text[:_MAX_CHARS]} for text in said[-_MAX_TEXTS:]],
            "did": did[-_MAX_EFFECTS:],
            "redacted": redacted[-_MAX_EFFECTS:],
            "omitted": left,
        }
        while shown["did"] and len(jsonvalue.encode(shown)) > _MAX_BYTES:
            del shown["did"][0], shown["redacted"][0]
            left["did"] += 1
        while shown["said"] and len(jsonvalue.encode(shown)) > _MAX_BYTES:
            del shown["said"][0]
            left["said"] += 1
        shown["redacted"] = [
            f"/did/{number}{pointer}"
            for number, pointers in enumerate(shown["redacted"])
            for pointer in pointers
        ]
        return shown

    def _did(
        self, entries: Sequence[Entry], agent: str, proposed: Mapping[str, Any]
    ) -> tuple[list[Json], list[list[str]]]:
        """The turn's effects, and pointers to the secrets left out of each; steps by name alone.

        `agent` is the one whose turn it is; `proposed` are the arguments of calls, by id.
        """
        effects: list[Json] = []
        hidden: list[list[str]] = []
        for entry in entries:
            if entry.kind not in ("call", "step") or entry.status == "asked":
                continue
            data = jsonvalue.decode(entry.data)
            status = data.get("status", "executed") if entry.status == "done" else "started"
            effect: Json = {"kind": entry.kind, "name": entry.name, "status": status}
            tools = self._tools.named(entry.name) if entry.kind == "call" else []
            secrets: list[str] = []
            if tools:
                effect["effect"] = self._tools.of(agent).get(entry.name, tools[0]).effect
                values = {"args": data.get("edited", proposed.get(data.get("id", "")))}
                if "words" in data:
                    words = data["words"]
                    effect["result"] = words if isinstance(words, str) else as_text(words)
                elif "value" in data:
                    values["result"] = data["value"]
                for name, value in values.items():
                    # Whose tool it is that ran is not recorded: none of their secrets is shown.
                    shown = value
                    for tool in tools:
                        schema = tool.parameters if name == "args" else tool.result.schema
                        shown = redaction.redacted(shown, schema)
                    effect[name] = shown
                    hidden_here = differences(value, shown, f"/{name}")
                    secrets += [difference["path"] for difference in hidden_here]
                if isinstance(effect.get("result"), str):
                    effect["result"] = effect["result"][:_MAX_CHARS]
            if "by" in data:
                effect["by"] = data["by"]
            effects.append(effect)
            hidden.append(secrets)
        return effects, hidden

    async def _earlier(self, scope: str, listed: ListedInterrupt, tool: str | None) -> list[Json]:
        """Decisions about calls of the same tool in this thread, oldest first."""
        if tool is None:
            return []
        earlier: list[Json] = []
        async for other in every(
            lambda after: self._store.interrupts(
                scope, InterruptFilter(thread_id=listed.thread_id), PageRequest(after, 1_000)
            )
        ):
            item = as_answered(other.interrupt)
            decided = item.status != "open" and item.decided_by is not None
            if decided and item.id != listed.interrupt.id and ours_of(item).get("tool") == tool:
                earlier.append(_decision(item))
        return earlier[-_MAX_EFFECTS:]


def _decision(item: Interrupt) -> Json:
    payload = jsonvalue.decode(item.payload) if item.payload else None
    said = "denied" if denies(item, payload) else "approved"
    reason = payload.get("reason") if isinstance(payload, dict) else None
    return {
        "at": format_time(item.decided_at or 0),
        "by": item.decided_by,
        "status": said if item.status == "resolved" else item.status,
        **({"reason": reason} if reason else {}),
        "changes": changes(item, payload),
    }


def _texts(view: ThreadView, turn: TurnRecord) -> list[str]:
    """The texts of the agent in this turn, in order."""
    begun: int = jsonvalue.decode(turn.request)["history"]
    said = [
        jsonvalue.decode(message.body).get("content")
        for message in view.messages[begun:]
        if message.role == "assistant" and message.visibility != "waiting"
    ]
    return [text for text in said if isinstance(text, str) and text]


def _arguments(view: ThreadView) -> Json:
    """The arguments that the thread's calls were proposed with, by id."""
    arguments: Json = {}
    for message in filter(calls, view.messages):
        for call in jsonvalue.decode(message.body).get("toolCalls") or ():
            with suppress(ValueError):  # of what a client made up it may be no JSON
                arguments[call["id"]] = jsonvalue.decode(call["function"]["arguments"].encode())
    return arguments


def _title(item: Interrupt) -> str | None:
    """The title of a question: its author's, else the first line of its message."""
    titled = ours_of(item).get("title")
    return titled if isinstance(titled, str) else item.message and item.message.partition("\n")[0]


def _rule(item: Interrupt) -> str:
    """The name of a question's expiry policy: `expire`, `hold`, `answer`, and so on."""
    rule = item.terms.on_expire
    return "answer" if isinstance(rule, FallbackAnswer) else rule
