"""A thread as its store holds it once it rests: what must agree with what, and what was decided."""

import json
from collections import Counter
from typing import Any, Self

from sayso.base.audit import AuditRow, first_broken
from sayso.base.records import Entry, PageRequest, ThreadView
from sayso.stores.base import Store

__all__ = ["Stored"]

Json = dict[str, Any]
SETTLED = ("resolved", "cancelled", "expired")


class Stored:
    """The view, the journal of the newest turn, and the audit trail of one thread."""

    def __init__(
        self, view: ThreadView, journal: tuple[Entry, ...], rows: tuple[AuditRow, ...]
    ) -> None:
        self.view = view
        self.journal = journal
        self.rows = rows
        told = [(row.kind, json.loads(row.content or b"{}")) for row in rows]
        self.questions = [(kind, content) for kind, content in told if "interruptId" in content]
        self.calls = [(kind, content) for kind, content in told if "interruptId" not in content]
        self.decisions = {
            content["interruptId"]: bool((content.get("payload") or {}).get("approved"))
            for kind, content in self.questions
            if kind in SETTLED and content["reason"] == "tool_call"
        }
        """By interrupt: whether it was settled by a yes."""

    @classmethod
    async def of(cls, store: Store, thread: str) -> Self | None:
        """All of a thread; None if there is no such thread."""
        view = await store.load("default", thread)
        if view is None:
            return None
        assert view.turn is not None
        rows: list[AuditRow] = []
        after = None
        while True:
            page = await store.audit("default", PageRequest(after), thread_id=thread)
            rows += page.items
            after = page.next
            if after is None:
                break
        return cls(view, await store.journal("default", view.turn.key), tuple(rows))

    def approved(self) -> set[str]:
        """The `name` of each call that a person said yes to, as edited."""
        asked = {
            content["interruptId"]: content["metadata"]["sayso"]["arguments"]["name"]
            for kind, content in self.questions
            if kind == "asked" and content["reason"] == "tool_call"
        }
        payloads = {
            content["interruptId"]: content["payload"]
            for kind, content in self.questions
            if kind == "resolved" and self.decisions.get(content["interruptId"])
        }
        return {
            payload.get("editedArgs", {}).get("name", asked[one])
            for one, payload in payloads.items()
        }

    def executed(self) -> set[str]:
        """What the results in the history say was done, by its name; each once."""
        said = [
            message["content"].rpartition("did ")[2]  # an edited call tells more before it
            for message in self.messages
            if message["role"] == "tool" and "did " in message["content"]
        ]
        assert len(said) == len(set(said)), said
        return set(said)

    @property
    def messages(self) -> list[Json]:
        return [json.loads(message.body) for message in self.view.messages]

    def faults(self, shown: list[Json]) -> list[str]:
        """What is wrong with the thread, in words; `shown` is what a page that loads it shows."""
        return [*self._history(shown), *self._turn(), *self._audit()]

    def _history(self, shown: list[Json]) -> list[str]:
        ids = [message["id"] for message in self.messages]
        found = [f"message {i} stands {n} times" for i, n in Counter(ids).items() if n > 1]
        results = Counter(m["toolCallId"] for m in self.messages if m["role"] == "tool")
        calls = [call["id"] for m in self.messages for call in m.get("toolCalls", ())]
        found += [f"call {one} has {results[one]} results" for one in calls if results[one] != 1]
        if set(results) - set(calls):
            found.append(f"results of no call: {set(results) - set(calls)}")
        visible = {m.id for m in self.view.messages if m.visibility == "visible"}
        stray = {m["id"] for m in shown if m["role"] != "activity"} ^ {
            one.id for one in self.view.messages if one.id in visible and one.role != "activity"
        }
        return [*found, *(f"message {one} is not both shown and stored" for one in stray)]

    def _turn(self) -> list[str]:
        thread, turn, run = self.view.thread, self.view.turn, self.view.run
        assert turn is not None
        assert run is not None
        found = []
        if thread.holder is not None:
            found.append(f"{thread.holder} holds the thread")
        if turn.status in ("running", "suspended"):
            found.append(f"the turn is {turn.status}, and nobody is asked anything")
        if run.ended_at is None or run.outcome is None:
            found.append("the last run has no end")
        found += [
            f"interrupt {one.id} is open"
            for one in self.view.interrupts
            if one.status == "open" and turn.status != "suspended"
        ]
        begun = [entry for entry in self.journal if entry.status == "started"]
        if turn.status == "finished":  # its questions stand there as asked; none is open, see above
            found += [f"{entry.name} at {entry.place} is {entry.status}" for entry in begun]
        return found

    def _audit(self) -> list[str]:
        at = first_broken("default", self.rows)
        found = [] if at is None else [f"the audit chain is broken at row {at}"]
        for kinds in (("asked",), SETTLED):
            seen = Counter(c["interruptId"] for kind, c in self.questions if kind in kinds)
            found += [f"{one} was {kinds[0]} {n} times" for one, n in seen.items() if n > 1]
        done = Counter(c["toolCallId"] for kind, c in self.calls if kind == "executed")
        found += [f"call {one} was executed {n} times" for one, n in done.items() if n > 1]
        settled = {c["interruptId"] for kind, c in self.questions if kind in SETTLED}
        asked = {c["interruptId"] for kind, c in self.questions if kind == "asked"}
        found += [f"{one} was settled and never asked" for one in settled - asked]
        return found
