"""The events of a run, for tests to look at."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

from sayso.base.errors import Problem, SaysoError
from sayso.protocol.frames import events_in
from sayso.streams.reader import Reader


class Refused(SaysoError):
    """A request that changed nothing; `code` and `details` are those that a client gets."""

    def __init__(self, code: str, message: str, details: dict[str, Any]) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
        self.details = details

    @classmethod
    def of(cls, problem: Problem) -> Self:
        """The refusal of an inbox or another path over HTTP, as it is raised in a test."""
        return cls(problem.code.value, problem.detail, problem.more)

    @property
    def problems(self) -> list[dict[str, Any]]:
        """The errors of payloads: `{"pointer", "message"}` each."""
        listed = self.details.get("interrupts", ())
        return [problem for question in listed for problem in question.get("problems", ())]


@dataclass(frozen=True, slots=True)
class RunResult:
    """One run, from its first event to its last; without events when none was begun."""

    events: tuple[dict[str, Any], ...]
    died: bool = False

    @property
    def outcome(self) -> str:
        """`success`, `interrupt`, `cancelled`, the code of an error, `crashed`, or `held`."""
        if self.died:
            return "crashed"
        if not self.events:
            return "held"
        last = self.events[-1]
        if last["type"] == "RUN_ERROR":
            return str(last["code"])
        return str(last.get("outcome", {}).get("type", "success"))

    @property
    def error(self) -> str | None:
        """The error as clients get it, if there was one."""
        last = self._last
        return str(last["message"]) if last.get("type") == "RUN_ERROR" else None

    @property
    def unmet(self) -> list[str]:
        """Names of breakpoints that the turn, which is over, never came to."""
        reports = [e["value"] for e in self.events if e.get("name") == "sayso:breakpoints"]
        return [name for report in reports for name in report["unmet"]]

    @property
    def result(self) -> Any:
        """The value that the agent function returned, once it has."""
        return self._last.get("result")

    @property
    def _last(self) -> dict[str, Any]:
        return self.events[-1] if self.events else {}

    @property
    def text(self) -> str:
        """The texts of the agent in this run."""
        return "".join(e["delta"] for e in self.events if e["type"] == "TEXT_MESSAGE_CONTENT")

    def of(self, *types: str) -> list[dict[str, Any]]:
        """The events of these types, in order."""
        return [event for event in self.events if event["type"] in types]


async def collected(reader: Reader, *, died: Callable[[], bool]) -> RunResult:
    """Read a run to its end.

    Raises:
        Refused: the request was refused.
    """
    chunks = []
    while (chunk := await reader.next_chunk()) is not None:
        chunks.append(chunk)
    events = tuple(events_in(b"".join(chunks)))
    run = RunResult(events, died())
    ours = events[-1].get("metadata", {}).get("sayso", {}) if events and not run.died else {}
    if ours.get("refused"):
        # Under `refusals="recover"` the run ends as the thread stands, with the problem beside it.
        details = ours.get("problem", ours)
        raise Refused(details["code"], run.error or details["message"], details)
    return run
