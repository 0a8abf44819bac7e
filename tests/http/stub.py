"""An engine that answers what a test tells it to, and an app over it."""

from collections.abc import Callable, Mapping
from typing import Any

from sayso.engine.health import Health
from sayso.http.agents import AgentRecord, ToolRecord
from sayso.http.app import Edge, Options
from sayso.metrics import Metrics
from sayso.protocol import frames
from sayso.protocol.peers import Manner
from sayso.protocol.runinput import RunInput
from sayso.records import Principal
from sayso.stores.memory.store import MemoryStore
from sayso.streams.stream import Reader
from sayso.testing import FakeClock

__all__ = ["AGENTS", "StubEngine", "edge"]

AGENTS: Mapping[str, AgentRecord] = {
    "support": AgentRecord(
        name="support",
        description="Helps.",
        version="1",
        tools=(
            ToolRecord(
                name="issue_refund",
                description="Gives money back.",
                parameters={"type": "object", "properties": {"amount": {"type": "number"}}},
                approval="when",
                editable=True,
            ),
            ToolRecord(
                name="lookup",
                description="Reads.",
                parameters={"type": "object"},
            ),
        ),
    ),
    "plain": AgentRecord(name="plain"),
}


AS_ASKED = Manner()


class StubEngine:
    """Notes what it was asked; `answer` makes the reader, or raises."""

    def __init__(self, answer: Callable[[RunInput], Reader] | None = None) -> None:
        self.calls: list[tuple[str, str, RunInput, Principal]] = []
        self.noted: list[tuple[str | None, Principal]] = []
        self.starts = 0
        self.stops = 0
        self.start_fault: Exception | None = None
        self.delivery_fault: Exception | None = None
        self._answer = answer or self._well

    @staticmethod
    def _well(request: RunInput) -> Reader:
        return Reader.canned(
            [
                frames.run_started(request.thread_id, request.run_id),
                frames.run_finished(request.thread_id, request.run_id, b'{"type":"success"}', None),
            ],
            "run_1",
        )

    async def start(self) -> None:
        self.starts += 1
        if self.start_fault is not None:
            raise self.start_fault

    async def stop(self) -> None:
        self.stops += 1

    async def run(
        self, agent: str, request: RunInput, principal: Principal, _: Manner = AS_ASKED
    ) -> Reader:
        self.calls.append(("run", agent, request, principal))
        return self._answer(request)

    async def connect(
        self, agent: str, request: RunInput, principal: Principal, _: Manner = AS_ASKED
    ) -> Reader:
        self.calls.append(("connect", agent, request, principal))
        return self._answer(request)

    async def delivered(self, reader: Reader, principal: Principal) -> None:
        if self.delivery_fault is not None:
            raise self.delivery_fault
        self.noted.append((reader.run_key, principal))


def edge(engine: StubEngine | None = None, *, routes: Any = (), **options: Any) -> Edge:
    """The whole app over a stub engine."""
    clock = FakeClock()
    health = Health(MemoryStore(clock=clock), clock, Metrics(), lambda: 0)
    return Edge(
        engine or StubEngine(), Options(**options), agents=AGENTS, health=health, routes=routes
    )
