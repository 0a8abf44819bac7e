"""People who say something, approve what they are asked, and try again when something breaks."""

import json
import random
import threading
import time
from collections import Counter
from contextlib import suppress
from typing import Any
from uuid import uuid4

import httpx

from tests import plain
from tests.process.ledger import Ledger
from tests.server import Event, events_of, resolved, run_input

__all__ = ["ROWS", "Person"]

ROWS: dict[str, dict[str, int]] = {
    "refund": {"refund": 1},
    "email": {"email": 3},
    "order status and refund": {"lookup": 1, "refund": 1},
    "slow refund": {"refund": 1, "slow": 1},
    "nested": {"inner": 2},
}
"""What is said, and the effects that it must have had once all was approved."""
FREE = {"lookup"}
"""Effects that nobody is asked about."""
PATIENCE = 120.0
"""Seconds that a turn needs at most once nothing breaks any more."""
TERMINAL = ("RUN_FINISHED", "RUN_ERROR")


class Person:
    """One thread, from what is said in it to its end, by a seed."""

    def __init__(
        self, url: str, ledger: Ledger, seed: int, *, calm: threading.Event, silence: float
    ) -> None:
        """`calm` is set once nothing breaks any more; after `silence` seconds one tries again."""
        self.thread = f"t-{uuid4().hex}"
        self._random = random.Random(seed)  # noqa: S311 - a play, not a secret
        self.said = self._random.choice(list(ROWS))
        self.happened: Counter[str] = Counter()
        """What this person met."""
        self.told: list[str] = []
        """What the last answer told of the calls."""
        self.broken: list[str] = []
        """What must not be."""
        self._url = url
        self._ledger = ledger
        self._calm = calm
        self._silence = silence
        self._approved = False

    @property
    def _bearable(self) -> float:
        """Seconds of silence: a machine may be slow, and none is meant once nothing breaks."""
        return PATIENCE / 4 if self._calm.is_set() else self._silence

    def see_through(self) -> None:
        """Say it, approve what is asked, and try again until it is done."""
        try:
            self._see_through()
        except Exception as error:  # a thread's error would be lost
            self.broken.append(repr(error))

    def faults(self) -> list[str]:
        """What happened twice, was lost, or must not be for other reasons."""
        seen, wanted = self._ledger.of(self.thread), Counter(ROWS[self.said])
        found = list(self.broken)
        if more := seen - wanted:
            found.append(f"done too often: {dict(more)}")
        if less := wanted - seen:
            found.append(f"lost: {dict(less)}; told {self.told}")
        return [f"{self.thread} ({self.said}): {fault}" for fault in found]

    def _see_through(self) -> None:
        body = run_input(self.thread, text=self.said)
        events = self._post("", body)
        end = None
        while True:
            if self._calm.is_set():
                end = end or time.monotonic() + PATIENCE
                assert time.monotonic() < end, f"never came to an end: {events[-1:]}"
            last: Event = events[-1] if events else {"type": "nothing"}
            outcome: Event = last.get("outcome") or {}
            if outcome.get("type") == "interrupt":
                events = self._approve(outcome["interrupts"])
            elif outcome.get("type") == "success" and not _is_empty(events):
                self.told = _results(events)
                return
            else:
                self.happened[f"tried again after {last.get('code', last['type'])}"] += 1
                time.sleep(0.1)  # as a page does before it tries again
                events = self._post("/connect", run_input(self.thread))
                if _is_empty(events):
                    events = self._post("", body)

    def _approve(self, asked: list[Event]) -> list[Event]:
        if not self._approved and (early := set(self._ledger.of(self.thread)) - FREE):
            self.broken.append(f"nobody had approved {early}")
        self._approved = True
        entries = [resolved(one, self._payload(one)) for one in asked]
        if self._random.random() < 0.7:
            self.happened["resumed"] += 1
            return self._post("", run_input(self.thread, resume=entries))
        for entry in entries:
            path = f"{self._url}interrupts/{entry.pop('interruptId')}/answer"
            with suppress(httpx.TransportError):
                self.happened["answered in the inbox"] += 1
                plain.post(path, json=entry, timeout=self._bearable)
        return self._post("/connect", run_input(self.thread))

    def _payload(self, asked: Event) -> Any:
        if asked["reason"] != "sayso:indeterminate":
            return {"approved": True}
        self.happened["asked what happened"] += 1
        result = self._ledger.result(asked["metadata"]["sayso"]["key"])
        if result is None:
            return {"action": "run_again"}
        return {"action": "skip", "result": json.loads(result)}

    def _post(self, path: str, body: Event) -> list[Event]:
        """The events of a run, as far as they came."""
        events: list[Event] = []
        url = f"{self._url}agents/ops{path}"
        with (
            suppress(httpx.TransportError),
            plain.stream("POST", url, json=body, timeout=self._bearable) as response,
        ):
            if response.status_code == 200:
                events.extend(events_of(response.iter_lines()))
                if not events or events[-1]["type"] not in TERMINAL:
                    self.broken.append(f"a whole body without a terminal event: {events[-1:]}")
            else:
                self.happened[f"status {response.status_code}"] += 1
        return events


def _is_empty(events: list[Event]) -> bool:
    """Whether they tell of a thread that has not begun to exist."""
    shown = [m for e in events if e["type"] == "MESSAGES_SNAPSHOT" for m in e["messages"]]
    frame = {"RUN_STARTED", "STATE_SNAPSHOT", "MESSAGES_SNAPSHOT", "RUN_FINISHED"}
    return not shown and {event["type"] for event in events} <= frame


def _results(events: list[Event]) -> list[str]:
    shown = [m for e in events if e["type"] == "MESSAGES_SNAPSHOT" for m in e["messages"]]
    told = [m for m in shown if m["role"] == "tool"]
    told += [event for event in events if event["type"] == "TOOL_CALL_RESULT"]
    return [one["content"] for one in told]
