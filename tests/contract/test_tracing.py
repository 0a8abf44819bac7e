"""Spans of OpenTelemetry: which there are, what they say and do not say, and their links."""

import asyncio
import logging
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import (
    SimpleSpanProcessor,
    SpanExporter,
    SpanExportResult,
)
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from sayso import DeclarationError, Principal, Sayso, ServerOptions, ToolCall, Turn, approval
from sayso.base.logs import JsonLines
from tests.contract.rest import at_rest, call, post
from tests.contract.server import Client, Server, answer, approve, served, taken_over
from tests.patience import PATIENCE
from tests.stores.backends import BACKENDS

TRACE = "0af7651916cd43dd8448eb211c80319c"
PARENT = f"00-{TRACE}-b7ad6b7169203331-01"


class Spans:
    """A provider whose spans are kept, in the order of their ends."""

    def __init__(self) -> None:
        self._kept = InMemorySpanExporter()
        self.provider = TracerProvider()
        self.provider.add_span_processor(SimpleSpanProcessor(self._kept))

    @property
    def ended(self) -> Sequence[ReadableSpan]:
        return self._kept.get_finished_spans()

    def named(self, name: str) -> list[ReadableSpan]:
        return [span for span in self.ended if span.name == f"sayso.{name}"]

    def one(self, name: str) -> ReadableSpan:
        (span,) = self.named(name)
        return span

    def tree(self) -> Any:
        """Each span with those below it, by name: the roots of all that has ended."""
        here = {span.context.span_id for span in self.ended}

        def below(parent: int | None) -> list[Any]:
            inner = [span for span in self.ended if _parent(span, here) == parent]
            inner.sort(key=lambda span: span.start_time or 0)
            return [_node(span.name, below(span.context.span_id)) for span in inner]

        return below(None)

    def clear(self) -> None:
        self._kept.clear()

    def text(self) -> str:
        """All that they say, but for ids that the provider makes."""
        return repr(
            [
                (s.name, dict(s.attributes or {}), s.status.description, s.events, s.links)
                for s in self.ended
            ]
        )


def _parent(span: ReadableSpan, here: set[int]) -> int | None:
    return span.parent.span_id if span.parent is not None and span.parent.span_id in here else None


def _node(name: str, inner: list[Any]) -> Any:
    short = name.removeprefix("sayso.")
    return {short: inner} if inner else short


def trace_of(span: ReadableSpan) -> int:
    number: int = span.context.trace_id
    return number


def linked(span: ReadableSpan) -> set[int]:
    return {link.context.trace_id for link in span.links}


def says(span: ReadableSpan) -> dict[str, Any]:
    return {
        name.removeprefix("sayso."): value
        for name, value in (span.attributes or {}).items()
        if name not in ("sayso.thread", "sayso.turn", "sayso.run", "sayso.call")
    }


@asynccontextmanager
async def traced(kind: str, folder: Path, **options: Any) -> AsyncIterator[tuple[Server, Spans]]:
    spans = Spans()
    async with served(kind, folder, tracing=spans.provider, **options) as server:
        yield server, spans


def paying(server: Server) -> Any:
    """An agent with a step and a gated call."""

    @server.app.tool(approval=approval.always(name="limits"))
    async def pay(to: str) -> str:
        server.effects.append(to)
        return f"paid {to}"

    async def look_up() -> str:
        return "an account"

    async def agent(turn: Turn) -> None:
        await turn.step(look_up)
        await turn.say(str(await turn.call(pay, to="somebody")))

    return agent


async def test_a_hello_is_a_request_a_gate_and_a_turn(tmp_path: Path) -> None:
    """In the trace that the request names."""

    async def hello(turn: Turn) -> None:
        await turn.say("Hello.")

    async with traced("memory", tmp_path) as (server, spans):
        client = server.client(hello, headers={"traceparent": PARENT})
        await client.say()
        await at_rest(server, client)
        assert spans.tree() == [{"request": [{"gate": ["turn"]}]}]
        assert {f"{trace_of(span):032x}" for span in spans.ended} == {TRACE}
        assert says(spans.one("request")) == {
            "http.request.method": "POST",
            "http.response.status_code": 200,
        }
        assert says(spans.one("gate")) == {"agent": client.agent, "verdict": "start"}
        assert says(spans.one("turn")) == {"agent": client.agent, "status": "success"}
        ids = spans.one("turn").attributes or {}
        assert ids["sayso.thread"] == client.thread


async def test_a_gated_trip_is_two_traces_and_what_is_replayed_makes_no_span(
    tmp_path: Path,
) -> None:
    """The second is linked with the first: days may lie between them."""
    async with traced("memory", tmp_path) as (server, spans):
        client = server.client(paying(server))
        await client.say()
        await at_rest(server, client)
        assert spans.tree() == [{"request": [{"gate": [{"turn": ["step", "tool"]}]}]}]
        step = says(spans.one("step"))
        assert (step.pop("step").rpartition(".")[2], step.pop("status")) == ("look_up", "executed")
        asked = {"tool": "pay", "rule": "limits", "verdict": "ask", "status": "asked", "attempt": 1}
        assert says(spans.one("tool")) == {"agent": client.agent, **asked}
        assert says(spans.one("turn"))["status"] == "interrupt"
        first = trace_of(spans.one("turn"))

        spans.clear()
        await client.resume(approve())
        await at_rest(server, client)
        assert spans.tree() == [{"request": [{"gate": [{"turn": ["tool"]}]}]}]
        ran = {**asked, "verdict": "allow", "status": "executed"}
        assert says(spans.one("tool")) == {"agent": client.agent, **ran}
        assert says(spans.one("gate"))["verdict"] == "resume"
        turn = spans.one("turn")
        assert trace_of(turn) != first
        assert linked(turn) == {first}


async def test_an_answer_of_the_inbox_begins_a_trace_that_is_linked(tmp_path: Path) -> None:
    """Nobody's client waits; the turn is that of the person who answered."""
    async with traced("memory", tmp_path) as (server, spans):
        client = server.client(paying(server))
        await client.say()
        first = trace_of(spans.one("request"))
        spans.clear()
        (asked,) = [item["id"] for item in client.model.pending]
        await post(server, f"/interrupts/{asked}/answer", approve())
        await at_rest(server, client)
        assert spans.tree() == [{"request": [{"gate": [{"turn": ["tool"]}]}]}]
        assert linked(spans.one("turn")) == {first}


async def test_a_call_that_is_over_makes_no_span_beside_one_that_was_answered(
    tmp_path: Path,
) -> None:
    """The turn comes to both again."""
    async with traced("memory", tmp_path) as (server, spans):

        @server.app.tool
        async def free() -> str:
            return "free"

        @server.app.tool(approval=approval.always)
        async def gated() -> str:
            return "gated"

        async def agent(turn: Turn) -> None:
            await turn.call_all([ToolCall(free, {}), ToolCall(gated, {})])

        client = server.client(agent)
        await client.say()
        told = {says(span)["tool"]: says(span)["status"] for span in spans.named("tool")}
        assert told == {"free": "executed", "gated": "asked"}
        spans.clear()
        await client.resume(approve())
        assert spans.tree() == [{"request": [{"gate": [{"turn": ["tool"]}]}]}]
        assert says(spans.one("tool"))["tool"] == "gated"


async def test_refusals_and_failures_are_told_by_their_codes(tmp_path: Path) -> None:
    """On the span of the request too where that is answered by a problem."""
    async with traced("memory", tmp_path) as (server, spans):
        client = server.client(paying(server))
        await client.say()
        spans.clear()
        await client.say("once more")
        assert says(spans.one("gate"))["code"] == "interrupts_pending"
        assert says(spans.one("gate"))["verdict"] == "refuse"
        spans.clear()
        await post(server, "/interrupts/int_none/answer", approve())
        assert says(spans.one("request"))["code"] == "unknown_interrupt"
        assert not any(span.events or span.status.description for span in spans.ended)

        async def broken(turn: Turn) -> None:
            raise RuntimeError("hunter2")

        spans.clear()
        await server.client(broken).say()
        assert says(spans.one("turn"))["code"] == "agent_error"
        assert "hunter2" not in spans.text()


@pytest.mark.parametrize("kind", BACKENDS)
async def test_a_restart_and_another_replica_link_what_they_continue(
    kind: str, tmp_path: Path
) -> None:
    """On every store: another process answers what the first one asked, days later."""
    async with traced(kind, tmp_path) as (server, spans):
        agent = paying(server)
        client = server.client(agent)
        await client.say()
        await at_rest(server, client)
        first = trace_of(spans.one("turn"))
        await server.app._engine.stop(grace=0)
        later = Spans()
        other = server.another(tracing=later.provider)
        other.add_tools(*server.app.tools)
        other.agent(client.agent)(agent)
        await server.clock.advance(3 * 86_400)
        async with other.lifespan():
            client.app = other
            await client.resume(approve())
            await at_rest(server, client)
        assert later.tree() == [{"request": [{"gate": [{"turn": ["tool"]}]}]}]
        assert linked(later.one("turn")) == {first}
        assert trace_of(later.one("turn")) != first
        assert server.effects == ["somebody"]


@pytest.mark.parametrize("kind", BACKENDS)
async def test_what_another_server_takes_over_is_a_trace_with_a_link(
    kind: str, tmp_path: Path
) -> None:
    """No request is there, so it is in a trace of its own, though one has started the server."""
    stuck, wakes = asyncio.Event(), asyncio.Event()
    async with traced(kind, tmp_path) as (server, _):

        async def work() -> str:
            server.effects.append("work")
            if len(server.effects) == 1:
                stuck.set()
                await wakes.wait()
            return "done"

        async def before() -> str:
            return "before"

        async def agent(turn: Turn) -> None:
            await turn.step(before)
            await turn.say(await turn.step.options(idempotent=True)(work))

        client = server.client(agent, headers={"traceparent": PARENT})
        client.user("go")
        exchange = client.open()
        async with asyncio.timeout(PATIENCE):
            await stuck.wait()
        await server.app._engine.stop(grace=0.01)
        await exchange.end()
        later = Spans()
        other = server.another(tracing=later.provider)
        other.agent(client.agent)(agent)
        await server.store.open()
        try:
            # Its first request starts it, and what it then takes over is no part of that.
            await Client(other, client.agent, headers={"traceparent": PARENT}).connect()
            await taken_over(server, client)
        finally:
            await other._engine.stop(grace=1)
        assert later.tree() == ["request", {"turn": ["step"]}]
        turn = later.one("turn")
        assert f"{trace_of(turn):032x}" != TRACE
        assert linked(turn) == {int(TRACE, 16)}


async def test_no_span_says_what_was_written_or_who_wrote_it(tmp_path: Path) -> None:
    """Arguments, results, texts, reasons, errors, names of people, tokens: each is random here."""
    secrets = {name: f"{name}-{uuid4().hex}" for name in (
        "argument", "result", "text", "said", "reason", "error", "person", "header", "state", "path"
    )}  # fmt: skip

    async def who(_: Any) -> Principal:
        return Principal(subject=secrets["person"])

    async with traced("memory", tmp_path, authenticate=who) as (server, spans):

        @server.app.tool(approval=approval.always, editable=True)
        async def pay(to: str) -> str:
            return secrets["result"]

        @server.app.tool
        async def fail() -> str:
            raise RuntimeError(secrets["error"])

        async def note(text: str) -> str:
            return text

        async def agent(turn: Turn) -> None:
            await turn.step(note, secrets["argument"])
            await turn.call(fail)
            await turn.call(pay, to=secrets["argument"])
            reply = await turn.interrupt("input_required", secrets["said"], schema=str)
            await turn.say(f"{secrets['said']}{reply.value}")
            raise RuntimeError(secrets["error"])

        client = server.client(
            agent, headers={"x-name": secrets["header"], "traceparent": secrets["header"]}
        )
        await client.say(secrets["text"], state={"key": secrets["state"]})
        await client.resume({"status": "resolved", "payload": {
            "approved": False, "reason": secrets["reason"]}})  # fmt: skip
        await client.resume(answer(secrets["text"]))
        await server.request("GET", f"/{secrets['path']}?q={secrets['path']}").end()
        await server.request(secrets["path"], "/agents").end()
        assert len(spans.named("turn")) == 3
        assert len(spans.named("tool")) == 3
        told = spans.text()
        assert [name for name, text in secrets.items() if text in told] == []


class Broken(SpanExporter):
    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        raise RuntimeError("the collector is down")


class Rude(SpanProcessor):
    def on_start(self, span: Any, parent_context: Any = None) -> None:
        raise RuntimeError("not now")

    def on_end(self, span: ReadableSpan) -> None:
        raise RuntimeError("not then")


@pytest.mark.parametrize(
    "processor", [SimpleSpanProcessor(Broken()), Rude()], ids=["export", "own"]
)
async def test_an_exporter_that_fails_harms_nobody(
    tmp_path: Path, processor: SpanProcessor, caplog: pytest.LogCaptureFixture
) -> None:
    """The log says so; requests, turns and tools end as ever."""
    provider = TracerProvider()
    provider.add_span_processor(processor)
    async with served("memory", tmp_path, tracing=provider) as server:
        client = server.client(paying(server))
        await client.say()
        run = await client.resume(approve())
        assert run.outcome == "success"
        assert server.effects == ["somebody"]
    assert caplog.records


async def test_lines_of_the_log_have_the_trace(tmp_path: Path) -> None:
    """Those of the agent too; a line outside of all spans has none."""
    lines: list[str] = []

    class Keeping(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append(JsonLines().format(record))

    async def hello(turn: Turn) -> None:
        logging.getLogger("shop").warning("at work")

    handler = Keeping()
    logging.getLogger("shop").addHandler(handler)
    try:
        async with traced("memory", tmp_path) as (server, _):
            await server.client(hello, headers={"traceparent": PARENT}).say()
        logging.getLogger("shop").warning("outside")
    finally:
        logging.getLogger("shop").removeHandler(handler)
    within, outside = lines
    assert f'"trace_id":"{TRACE}"' in within
    assert "trace_id" not in outside


OFF = """
import asyncio, sys
import orjson
from sayso import Sayso, ServerOptions, Turn
from tests.asgi import JSON, call, run_body

entered = set()

def profile(frame, event, _):
    if event == "call":
        entered.add(frame.f_code.co_qualname)

app = Sayso(store="memory:", server=ServerOptions(console=False))

@app.agent("hello")
async def hello(turn: Turn) -> None:
    await turn.say("Hello.")

async def main():
    async with app.lifespan():
        sys.setprofile(profile)
        answer = await call(app, "POST", "/agents/hello", headers=JSON, body=run_body())
        sys.setprofile(None)
    assert answer.body.count(b"RUN_FINISHED") == 1

asyncio.run(main())
assert any("Turn.say" in name for name in entered)
print(sorted(name for name in entered if "traced" in name.lower() or "tracing" in name.lower()))
print(sorted(n for n in sys.modules if n.startswith("opentelemetry") or n == "sayso.base.tracing"))
"""


def test_off_it_costs_nothing() -> None:
    """Nothing of it is loaded, and a hello enters no function that is there for it."""
    root = Path(__file__).parents[2]
    done = subprocess.run(  # noqa: S603 - our own code
        [sys.executable, "-c", OFF], cwd=root, capture_output=True, check=True, text=True
    )
    assert done.stdout.split("\n")[:2] == ["[]", "[]"]


def test_tracing_takes_a_provider_and_nothing_else() -> None:
    """Said when it is declared."""
    with pytest.raises(DeclarationError, match="a TracerProvider of OpenTelemetry, not 'yes'"):
        ServerOptions(tracing="yes")  # type: ignore[arg-type]  # what somebody may write


async def test_true_is_the_provider_of_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """The one that the operator has set up, by code or by `opentelemetry-instrument`."""
    spans = Spans()
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", spans.provider)
    app = Sayso(store="memory:", server=ServerOptions(console=False, tracing=True))
    async with app.lifespan():
        await call(app, "GET", "/agents")
    assert [span.name for span in spans.ended] == ["sayso.request"]


def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """As other extras do."""
    monkeypatch.setitem(sys.modules, "sayso.base.tracing", None)
    with pytest.raises(DeclarationError, match="the extra otel"):
        Sayso(store="memory:", server=ServerOptions(tracing=True))
