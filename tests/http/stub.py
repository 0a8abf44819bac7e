"""An engine that answers what a test tells it to, and an app over it."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, cast

from sayso.agents import approval
from sayso.agents.registry import Agent, Agents
from sayso.agents.tools import Tool
from sayso.agents.toolset import Tools
from sayso.base.limits import Limits
from sayso.base.records import Principal
from sayso.engine.dialect import Dialect
from sayso.engine.engine import Engine
from sayso.engine.health import Health
from sayso.engine.quotas import Quotas
from sayso.engine.service_tokens import ServiceTokens
from sayso.engine.sign_ins import SignIns
from sayso.http.app import Edge
from sayso.http.options import ServerOptions
from sayso.http.security import Authenticate
from sayso.protocol import frames
from sayso.protocol.runinput import RunInput
from sayso.stores.sqlite.memory import MemoryStore
from sayso.streams.reader import Reader
from sayso.testing import FakeClock
from sayso.turns.authorization import Authorization
from sayso.turns.services import Services

__all__ = ["AGENTS", "TOOLS", "StubEngine", "edge"]


async def _silent(_: Any) -> None:
    """An agent that says nothing."""


def issue_refund(amount: float) -> str:
    """Gives money back."""
    return f"{amount}"


def lookup() -> str:
    """Reads."""
    return ""


AGENTS = Agents()
AGENTS.add(Agent(name="support", description="Helps.", version="1", function=_silent))
AGENTS.add(Agent(name="plain", version="", function=_silent))

TOOLS: Mapping[str, Tool[..., Any]] = {
    "issue_refund": Tool(
        issue_refund, approval=approval.when(lambda amount: amount > 1), editable=True
    ),
    "lookup": Tool(lookup, approval=approval.never),
}


AS_ASKED = Dialect()


class StubEngine:
    """Notes what it was asked; `answer` makes the reader, or raises."""

    def __init__(self, answer: Callable[[RunInput], Reader] | None = None) -> None:
        self.requests = self
        self.calls: list[tuple[str, str, RunInput, Principal]] = []
        self.noted: list[tuple[str | None, Principal]] = []
        self.starts = 0
        self.stops = 0
        clock = FakeClock()
        self.quotas = Quotas(Limits(), MemoryStore(clock=clock), clock, shared=True)
        self.health = Health(Services(store=MemoryStore(clock=clock), clock=clock), lambda: 0)
        services = Services(store=MemoryStore(clock=clock), clock=clock)
        self.service_tokens = ServiceTokens(services)
        self.sign_ins = SignIns(clock, self.service_tokens)
        self.authorization = Authorization()
        self.tracing = None
        self.start_fault: Exception | None = None
        self.delivery_fault: Exception | None = None
        self._answer = answer or self._well

    @staticmethod
    def _well(request: RunInput) -> Reader:
        return Reader.from_frames(
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
        self, agent: str, request: RunInput, principal: Principal, _: Dialect = AS_ASKED
    ) -> Reader:
        self.calls.append(("run", agent, request, principal))
        return self._answer(request)

    async def connect(
        self, agent: str, request: RunInput, principal: Principal, _: Dialect = AS_ASKED
    ) -> Reader:
        self.calls.append(("connect", agent, request, principal))
        return self._answer(request)

    async def delivered(self, reader: Reader, principal: Principal) -> None:
        if self.delivery_fault is not None:
            raise self.delivery_fault
        self.noted.append((reader.run_key, principal))


def edge(
    engine: StubEngine | None = None,
    *,
    routes: Any = (),
    console: Path | None = None,
    authenticate: Authenticate | None = None,
    **options: Any,
) -> Edge:
    """The whole app over a stub engine."""
    tools = Tools()
    for tool in TOOLS.values():
        tools.add(tool)
    return Edge(
        cast(Engine, engine or StubEngine()),
        ServerOptions(**options),
        authenticate=authenticate,
        console=console,
        agents=AGENTS,
        tools=tools,
        routes=routes,
    )
