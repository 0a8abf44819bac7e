"""The errors that Sayso raises.

Exception
├── SaysoError
│   ├── Problem              a request that gets an HTTP error and no stream (RFC 9457)
│   ├── agents.parameters.ArgumentsMisfit    arguments that a tool's JSON Schema refuses
│   ├── DeclarationError     an agent, tool or schema that cannot work, found when it is declared
│   ├── TurnError            the author's code used a turn wrongly, or its turn cannot continue
│   │   ├── StepFailed       a recorded step raised; the same live and on replay
│   │   │   └── ModelFailed  a model was not reached, or its answer broke off
│   │   ├── AgentFailed      an agent elsewhere failed, or refused a request
│   │   ├── NotAllowed       an inner agent that this user may not run
│   │   ├── ToolFailed       a tool raised where that fails the turn
│   │   ├── OutcomeUnknown   code began an effect and does not know what came of it
│   │   ├── NotRecordable    a value that the journal cannot keep
│   │   ├── OpenMessage      a recorded call while a text message is open
│   │   ├── NestedCall       a recorded call inside a recorded step
│   │   ├── CancelledCall    author code cancelled a recorded call
│   │   ├── ToolNotOffered   a client tool that the client did not offer
│   │   ├── TooManyInterrupts    more open questions than the server or a client takes
│   │   ├── InterruptsDisabled   an agent that is declared not to ask has asked
│   │   ├── ThreadTooLarge   messages that have outgrown what a client takes
│   │   ├── ReplayMismatch   the code no longer asks for what the journal holds
│   │   │   └── JournalMissing   the journal does not hold what the turn has asked
│   │   └── protocol.guard.StreamOrderError   an event that was sent out of order
│   ├── StoreError
│   │   ├── Conflict         the thread changed between reading and claiming
│   │   ├── LeaseLost        another holder took the thread
│   │   └── StoreUnavailable the store cannot be reached or cannot write
│   ├── providers.ProviderError  a provider of models did not answer
│   ├── client.ClientError   what `sayso.client` could not do; its own tree is in `client.errors`
│   └── testing.Refused      the server refused what a test did
├── binding.CannotStart           the command cannot serve: an address, a file
├── importing.ImportPathError     `module:name` names nothing that can be served
└── yamlfile.YamlFileError        a file of agents that cannot be read

The last three end the command with one line each. Of time: a tool or step that took longer than its
`timeout` is a `Call` that failed, or `StepFailed` with the type `TimeoutError`; of a question
`Answer.expired` says so. `turn` raises no TimeoutError.
"""

from collections.abc import Mapping
from typing import Any

from sayso.base.codes import Code


class SaysoError(Exception):
    """Root of what Sayso raises."""


class Problem(SaysoError):
    """A request that is answered with an HTTP error and no stream (ER-01).

    `status` is that of `code`; `detail` says what went wrong, where, and what to do, without
    echoing the request; `errors` are `{"pointer", "message"}` objects for its members; `more` are
    further members of the problem, such as who decided before.
    """

    def __init__(
        self,
        code: Code,
        detail: str,
        *,
        errors: tuple[dict[str, str], ...] = (),
        more: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(detail)
        if code.facts.status is None:
            raise ValueError(f"{code.value} ends a run; it has no HTTP status of its own")
        self.code = code
        self.status: int = code.facts.status
        self.detail = detail
        self.errors = errors
        self.more: dict[str, Any] = dict(more or {})


class DeclarationError(SaysoError):
    """An agent, tool, policy or schema that cannot work; raised where it is declared."""


class TurnError(SaysoError):
    """Author code and its turn disagree; the message says what to change."""


class StepFailed(TurnError):
    """A recorded step raised. Carries the type's name and message, live and on replay alike."""

    def __init__(self, step: str, error_type: str, message: str) -> None:
        super().__init__(f"step {step!r} failed with {error_type}: {message}")
        self.step = step
        self.error_type = error_type
        self.message = message


class ModelFailed(StepFailed):
    """A model was not reached, or its answer broke off; a retry of the turn asks again.

    Its text is told to everybody: it names model, host and status, and no key or body.
    """

    def __init__(self, model: str, message: str) -> None:
        super().__init__(f"model {model}", "ProviderError", message)
        self.args: tuple[Any, ...] = (f"the model {model!r} did not answer: {message}",)
        self.model = model


class AgentFailed(TurnError):
    """An agent that is a stream of events said that it failed, or refused what it was sent.

    Its text is told to everybody: it has that agent's own words, and no header.
    """


class NotAllowed(TurnError):
    """`Sayso(authorize=…)` does not let this user run an inner agent; recorded, so it stays so."""


class NotRecordable(TurnError):
    """A value that has no JSON form; nothing was stored and nothing ran."""


class ToolFailed(TurnError):
    """A tool raised, and its errors fail the turn.

    A tool that raises it itself has failed in words meant for everybody: `ToolFailed("no such
    order")` is told as it is, whatever `tool_errors` says.
    """


class OutcomeUnknown(TurnError):
    """Raised by a tool or a step whose effect began, when nobody knows what came of it.

    A lost connection is an example. A person is asked whether it may run again, as after a crash;
    the text says what was seen, without the values of its arguments. What is `idempotent` fails
    with the text instead: it may be made again by whoever made it.
    """


class OpenMessage(TurnError):
    """A recorded call was made while this branch has a text message open."""


class NestedCall(TurnError):
    """A recorded call or a question was made inside a recorded step."""


class CancelledCall(TurnError):
    """Author code cancelled a recorded call; the call was finished and recorded all the same."""


class ToolNotOffered(TurnError):
    """A client tool was called that the client did not offer; nothing was sent."""


class TooManyInterrupts(TurnError):
    """The turn has more questions open at once than the server allows, or than a client takes."""


class InterruptsDisabled(TurnError):
    """The agent asked a person, which `interrupts_enabled=False` (`enabled: false`) forbids."""


class ThreadTooLarge(TurnError):
    """The thread's messages have outgrown what a client takes; the turn cannot say any more."""


class ReplayMismatch(TurnError):
    """The code does not fit what the journal holds at a place, so nothing more is done.

    `recorded` is what stands there, `asked` what the code asks for instead. The message is for
    everybody; `where`, the author's line, and `passed`, what a step is given, are for the author.
    """

    where: str | None = None
    passed: str | None = None

    def __init__(
        self, place: str, recorded: str, asked: str, because: str = "", advice: str = ""
    ) -> None:
        reason = f" ({because})" if because else ""
        hint = f"{advice}; otherwise " if advice else ""
        super().__init__(
            f"at {place!r} the journal holds {recorded} but the code asks for {asked}{reason}; "
            f"{hint}deploy the version that began this turn, or stop or restart the turn"
        )
        self.place = place
        self.recorded = recorded
        self.asked = asked

    @property
    def explain(self) -> str:
        """The message with the author's line and arguments, for the author alone."""
        line = f"{self.where}: " if self.where else ""
        passed = f" (called with {self.passed})" if self.passed else ""
        return f"{line}{self}{passed}"


class JournalMissing(ReplayMismatch):
    """The store no longer holds what the turn recorded at a place: it cannot continue there."""

    def __init__(self, place: str) -> None:
        super().__init__(place, "nothing any more", "what it asked there")
        self.args: tuple[Any, ...] = (
            f"the journal of this turn lacks what was asked at {place!r}: it was removed, has "
            "expired, or was not restored; nothing was run again. Restore it, or stop or restart "
            "the turn",
        )


class StoreError(SaysoError):
    """The store refused or failed; nothing of the failed operation was kept."""


class Conflict(StoreError):
    """The thread has changed since the caller read it; read it and decide again."""


class LeaseLost(StoreError):
    """The fence of this lease is no longer the thread's; the holder must stop silently."""


class StoreUnavailable(StoreError):
    """The store cannot be reached or cannot write now."""
