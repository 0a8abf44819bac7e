"""Spans of OpenTelemetry: of requests, of the turns that they begin, and of what these do.

request ── gate ── turn ──┬── tool
                          └── step

Loaded only where tracing is asked for. A span has ids, names that code has, and codes: never what
somebody has written, what a tool is called with, or who a person is. What fails in here is logged,
and fails nothing else.
"""

import logging
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import Context, copy_context
from typing import Any, Final, TypeVar

from opentelemetry import context as contexts
from opentelemetry import trace
from opentelemetry.trace import Link, Span, SpanContext, SpanKind, Status, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from sayso.base.errors import Problem
from sayso.base.logs import forget_log_context, log_context

T = TypeVar("T")
V = TypeVar("V")

_log = logging.getLogger("sayso.tracing")
_W3C: Final = TraceContextTextMapPropagator()
_PARENT: Final = "traceparent"
_NOWHERE: Final = contexts.Context()
"""The context of what belongs to no span."""


class Tracing:
    """The spans of one app, from a `TracerProvider`; True: from the process's own."""

    def __init__(self, provider: Any) -> None:
        of = trace if provider is True else provider
        self._tracer: trace.Tracer = of.get_tracer("sayso")

    @contextmanager
    def request(self, method: str, headers: Mapping[str, str]) -> Iterator["Traced"]:
        """A span around a request, in the trace that its `traceparent` names."""
        around = contexts.get_current()
        if not trace.get_current_span(around).get_span_context().is_valid:
            around = _W3C.extract(headers, around)
        with self._span("sayso.request", around, kind=SpanKind.SERVER) as span:
            span.note(**{"http.request.method": method})
            yield span

    @contextmanager
    def span(
        self, name: str, ids: Mapping[str, str], *, links: Iterable[str] = ()
    ) -> Iterator["Traced"]:
        """A span below the current one, else one that begins a trace.

        `links` are traceparents of what goes on in it; those of its own trace say nothing new.
        """
        around = contexts.get_current()
        own = trace.get_current_span(around).get_span_context().trace_id
        linked = [Link(other) for other in _apart(links, own)]
        with self._span(f"sayso.{name}", around, links=linked) as span:
            span.note(**ids)
            yield span

    @contextmanager
    def _span(self, name: str, around: contexts.Context, **more: Any) -> Iterator["Traced"]:
        span = self._begun(name, around, **more)
        token = contexts.attach(trace.set_span_in_context(span, around))
        traced = Traced(span)
        try:
            with log_context(trace_id=trace.format_trace_id(span.get_span_context().trace_id)):
                yield traced
        except Exception as error:
            traced.failed(error)
            raise
        finally:
            contexts.detach(token)
            traced.end()

    def _begun(self, name: str, around: contexts.Context, **more: Any) -> Span:
        try:
            return self._tracer.start_span(name, around, **more)
        except Exception:
            _log.warning("span %s could not begin", name, exc_info=True)
            return trace.INVALID_SPAN

    def around(
        self, name: str, act: Callable[[V], Awaitable[T]], **ids: str
    ) -> Callable[[V], Awaitable[T]]:
        """The same function with a span around each of its calls."""

        async def traced(value: V) -> T:
            with self.span(name, ids):
                return await act(value)

        return traced

    def note(self, **facts: str | int) -> None:
        """Note facts on the current span."""
        Traced(trace.get_current_span()).note(**facts)

    def here(self) -> str | None:
        """The traceparent of the current span; None outside of all."""
        carrier: dict[str, str] = {}
        _W3C.inject(carrier)
        return carrier.get(_PARENT)

    def outside(self) -> Context:
        """A context for work that outlives the current span and is no part of it."""
        context = copy_context()
        context.run(contexts.attach, _NOWHERE)
        context.run(forget_log_context)
        return context


class Traced:
    """One span as it is told of."""

    __slots__ = ("_span",)

    def __init__(self, span: Span) -> None:
        self._span = span

    def note(self, **facts: str | int | None) -> None:
        """Set attributes: `sayso.` and the name, unless it has a dot; None is no fact."""
        for name, value in facts.items():
            if value is not None:
                self._span.set_attribute(name if "." in name else f"sayso.{name}", value)

    def failed(self, error: Exception) -> None:
        """Note the type of an error; its text was written for the log."""
        self._span.set_status(Status(StatusCode.ERROR))
        self.note(**{"error.type": type(error).__name__})
        if isinstance(error, Problem):
            self.note(code=error.code.value)

    def end(self) -> None:
        """End it; whoever exports it may fail."""
        try:
            self._span.end()
        except Exception:
            _log.warning("a span could not be handed on", exc_info=True)


def _apart(links: Iterable[str], own: int) -> list[SpanContext]:
    """The last span of each trace but one's own."""
    last: dict[int, SpanContext] = {}
    for link in links:
        context = trace.get_current_span(_W3C.extract({_PARENT: link})).get_span_context()
        if context.is_valid and context.trace_id != own:
            last[context.trace_id] = context
    return list(last.values())
