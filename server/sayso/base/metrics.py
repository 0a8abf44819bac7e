"""The metrics of a server, as Prometheus reads them (text format 0.0.4).

Counted by the process that did it, from its start on: sums over replicas are the reader's business.
Nothing here is per thread, user or scope, so that the number of series is bounded.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_CALLS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0)
_RUNS = (0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 15.0, 60.0, 300.0, 900.0)
_DECISIONS = (1.0, 5.0, 15.0, 60.0, 300.0, 900.0, 3600.0, 14400.0, 86400.0, 259200.0, 604800.0)


class Counter:
    """A number that only grows, for each value of one label."""

    def __init__(self, name: str, help_text: str, label: str) -> None:
        self._name, self._told, self._label = name, help_text, label
        self._counts: dict[str, int] = {}

    def add(self, value: str) -> None:
        """Count one more of a label's value."""
        self._counts[value] = self._counts.get(value, 0) + 1

    def lines(self) -> Iterator[str]:
        """The lines of it, as Prometheus reads them."""
        yield from _head(self._name, self._told, "counter")
        for value, count in sorted(self._counts.copy().items()):
            yield _sample(self._name, {self._label: value}, count)


class Histogram:
    """A histogram of durations in seconds, for each value of one label."""

    def __init__(self, name: str, help_text: str, label: str, bounds: Sequence[float]) -> None:
        self._name, self._told, self._label = name, help_text, label
        self._bounds = tuple(bounds)
        self._counts: dict[str, list[int]] = {}
        self._sums: dict[str, float] = {}

    def add(self, seconds: float, value: str) -> None:
        """Count one of so many seconds; a clock that went back counts as none."""
        if seconds < 0.0:
            seconds = 0.0
        counts = self._counts.get(value)
        if counts is None:
            # The sum first: who reads the counts meanwhile, from another thread, finds it.
            self._sums[value] = 0.0
            counts = self._counts[value] = [0] * (len(self._bounds) + 1)
        counts[bisect_left(self._bounds, seconds)] += 1
        self._sums[value] += seconds

    def lines(self) -> Iterator[str]:
        """The lines of it, as Prometheus reads them."""
        yield from _head(self._name, self._told, "histogram")
        for value, counts in sorted(self._counts.copy().items()):
            label, total = {self._label: value}, 0
            for bound, count in zip((*self._bounds, None), tuple(counts), strict=True):
                total += count
                edge = "+Inf" if bound is None else f"{bound:g}"
                yield _sample(f"{self._name}_bucket", {**label, "le": edge}, total)
            yield _sample(f"{self._name}_sum", label, round(self._sums[value], 6))
            yield _sample(f"{self._name}_count", label, total)


class Metrics:
    """The metrics of one server. All durations are in seconds."""

    def __init__(self) -> None:
        self.decisions: Histogram = Histogram(
            "sayso_interrupt_decision_seconds",
            "Time from a question to a person's decision, by what it was.",
            "status",
            _DECISIONS,
        )
        self.settled: Counter = Counter(
            "sayso_interrupts_settled_total",
            "Questions that were settled, by people or by time: resolved, cancelled, expired.",
            "status",
        )
        self.refusals: Counter = Counter(
            "sayso_refusals_total",
            "Requests and answers that were refused, by code: in a stream or as a problem.",
            "code",
        )
        self.stale: Counter = Counter(
            "sayso_remembered_stale_total",
            "Times that a remembered approval did not count: its rules have changed, or its giver "
            "may not give it any more.",
            "reason",
        )
        self.runs: Histogram = Histogram(
            "sayso_run_seconds",
            "Time from the start of a run to its end, by outcome: success, interrupt, "
            "cancelled, error.",
            "outcome",
            _RUNS,
        )
        self.calls: Histogram = Histogram(
            "sayso_store_seconds",
            "Time that calls of the store took, failed ones too, by operation.",
            "operation",
            _CALLS,
        )
        self.conflicts: Counter = Counter(
            "sayso_store_conflicts_total",
            "Writes that came second: the thread had changed, so they were judged anew.",
            "operation",
        )
        self.lost: Counter = Counter(
            "sayso_store_lease_losses_total",
            "Writes that were fenced off: another server had taken the thread.",
            "operation",
        )
        self.failures: Counter = Counter(
            "sayso_store_failures_total",
            "Calls that the store did not answer, by operation.",
            "operation",
        )

    def lines(self) -> Iterator[str]:
        """The lines of all metrics, as Prometheus reads them."""
        yield from self.decisions.lines()
        yield from self.settled.lines()
        yield from self.refusals.lines()
        yield from self.stale.lines()
        yield from self.runs.lines()
        yield from self.calls.lines()
        yield from self.conflicts.lines()
        yield from self.lost.lines()
        yield from self.failures.lines()


def gauge(name: str, help_text: str, values: Iterable[float]) -> Iterator[str]:
    """Something that is read when it is asked for; no value when it cannot be told now."""
    yield from _head(name, help_text, "gauge")
    for value in values:
        yield _sample(name, {}, value)


def _head(name: str, help_text: str, kind: str) -> tuple[str, str]:
    return f"# HELP {name} {help_text}", f"# TYPE {name} {kind}"


def _sample(name: str, labels: dict[str, str], value: float) -> str:
    """Label values are codes, operations and types of our own: nothing to escape."""
    shown = ",".join(f'{label}="{text}"' for label, text in labels.items())
    return f"{name}{{{shown}}} {value}" if shown else f"{name} {value}"
