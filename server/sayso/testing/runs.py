"""What a run told its reader, for tests to look at."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from sayso import jsonvalue
from sayso.errors import Code, SaysoError
from sayso.streams.stream import Reader

__all__ = ["Refused", "Run", "collected"]

_REFUSALS: Final = frozenset(
    code.value
    for code in (
        Code.INTERRUPTS_PENDING,
        Code.PARTIAL_RESUME,
        Code.UNKNOWN_INTERRUPT,
        Code.DUPLICATE_ENTRY,
        Code.INVALID_PAYLOAD,
        Code.INTERRUPT_EXPIRED,
        Code.ALREADY_RESOLVED,
        Code.THREAD_BUSY,
        Code.WRONG_AGENT,
        Code.AGENT_VERSION_MISSING,
    )
)


class Refused(SaysoError):
    """A request that changed nothing; `code` and `details` are those that a client gets."""

    def __init__(self, code: str, message: str, details: dict[str, Any]) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
        self.details = details

    @property
    def problems(self) -> list[dict[str, Any]]:
        """What is wrong with payloads: `{"pointer", "message"}` each."""
        listed = self.details.get("interrupts", ())
        return [problem for one in listed for problem in one.get("problems", ())]


@dataclass(frozen=True, slots=True)
class Run:
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
        """What clients are told of an error, if it was one."""
        last = self._last
        return str(last["message"]) if last.get("type") == "RUN_ERROR" else None

    @property
    def result(self) -> Any:
        """What the agent function returned, once it has."""
        return self._last.get("result")

    @property
    def _last(self) -> dict[str, Any]:
        return self.events[-1] if self.events else {}

    @property
    def text(self) -> str:
        """What the agent said in this run."""
        return "".join(e["delta"] for e in self.events if e["type"] == "TEXT_MESSAGE_CONTENT")

    def of(self, *types: str) -> list[dict[str, Any]]:
        """The events of these types, in order."""
        return [event for event in self.events if event["type"] in types]


async def collected(reader: Reader, *, died: Callable[[], bool]) -> Run:
    """Read a run to its end; raises `Refused` for a refusal."""
    chunks = []
    while (chunk := await reader.take()) is not None:
        chunks.append(chunk)
    frames = b"".join(chunks).split(b"\n")
    events = tuple(
        jsonvalue.decode(line.removeprefix(b"data: "))
        for line in frames
        if line.startswith(b"data:")
    )
    run = Run(events, died())
    if not run.died and run.outcome in _REFUSALS and run.error is not None:
        details = events[-1].get("metadata", {}).get("sayso", {})
        raise Refused(run.outcome, run.error, details)
    return run
