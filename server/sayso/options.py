"""What a server may do in one way or another: every option, its values and its default. Pure.

Set on `Sayso`, overridden per agent; `expires_in` and `on_expire` per tool and question as well.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, fields, replace
from datetime import datetime
from enum import Enum
from inspect import iscoroutinefunction
from math import isfinite
from typing import Any, Final, Literal, TypedDict, get_args

from sayso.breakpoints import Breakpoints
from sayso.errors import DeclarationError

__all__ = [
    "DEFAULT",
    "Default",
    "Emission",
    "GivenAnswer",
    "LegacyValue",
    "OnExpire",
    "OptionValues",
    "Options",
    "Reminder",
    "ReminderHook",
    "check_lease",
    "check_lifetime",
    "check_threads",
    "declared",
    "overridden",
    "shown",
]


class Default(Enum):
    """The kind of `DEFAULT`."""

    DEFAULT = "default"


DEFAULT: Final = Default.DEFAULT
"""What the next wider place says: the agent for a tool or a question, the server for an agent."""


@dataclass(frozen=True, slots=True)
class GivenAnswer:
    """For `on_expire`: the question counts as answered with this JSON payload, by nobody."""

    payload: Any


OnExpire = Literal["expire", "hold", "deny", "cancel", "approve"] | GivenAnswer
"""What an open question becomes when its time is up and nobody has answered.

`expire`: it counts as expired, which is no refusal. `hold`: it stays open and can only be
cancelled. `deny`: a gated call counts as denied, anything else as expired. `cancel`: it counts as
withdrawn. `approve`: the call runs; only for a tool that spells it out. A `GivenAnswer`: that.
"""


Emission = Literal["standard", "legacy", "both"]
"""How clients are asked: by the outcome of the run, by the older dialect's `on_interrupt` event,
or by both, which is one interrupt all the same (LG-13, F3)."""
LegacyValue = Literal["interrupt", "message"]
"""What that event carries: the interrupt as JSON text, or its message as it is (LG-02)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reminder:
    """What an `on_reminder` hook is told about a question that is still open."""

    scope: str
    thread_id: str
    owner: str
    agent: str
    interrupt_id: str
    reason: str
    message: str | None
    expires_at: datetime
    assigned_to: str | None


ReminderHook = Callable[[Reminder], Awaitable[object]]


class OptionValues(TypedDict, total=False):
    """The options by name, for keyword arguments."""

    refusals: Literal["error", "recover"]
    interrupts: Emission
    legacy_value: LegacyValue
    legacy_answers: bool
    may_ask: bool
    unknown_entries: Literal["refuse", "ignore"]
    partial: Literal["refuse", "accumulate"]
    on_message: Literal["refuse", "answer", "cancel"]
    on_disconnect: Literal["finish", "cancel"]
    subagents: bool
    expires_in: float | None
    on_expire: OnExpire
    remind_at: float | None
    on_reminder: ReminderHook | None
    tool_errors: Literal["text", "fail"]
    detached_for: float | None
    expiries_in_a_row: int | None
    breakpoints: Breakpoints | None
    run_breakpoints: Literal["refuse", "allow"]
    detached_at_once: int


_CHOICES: Final[dict[str, tuple[str, ...]]] = {
    "refusals": ("error", "recover"),
    "interrupts": get_args(Emission),
    "legacy_value": get_args(LegacyValue),
    "unknown_entries": ("refuse", "ignore"),
    "partial": ("refuse", "accumulate"),
    "on_message": ("refuse", "answer", "cancel"),
    "on_disconnect": ("finish", "cancel"),
    "on_expire": ("expire", "hold", "deny", "cancel"),
    "tool_errors": ("text", "fail"),
    "run_breakpoints": ("refuse", "allow"),
}
_LONGEST_LEASE: Final = 600
_OF_THE_SERVER: Final = ("detached_at_once",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """All options with their values; the defaults are the documented ones (design 4).

    Raises `DeclarationError` for a value that no option has.
    """

    refusals: Literal["error", "recover"] = "error"
    """`error`: a refusal is a RUN_ERROR. `recover`: it shows the thread as it stands, its open
    interrupts with the problem in their metadata."""
    interrupts: Emission = "standard"
    """How clients are asked that do not say it themselves by `?interrupts=` (TR-26)."""
    legacy_value: LegacyValue = "interrupt"
    """What the event of the older dialect carries."""
    legacy_answers: bool = True
    """Whether `forwardedProps.command` answers; otherwise it is the author's to read (LG-15)."""
    may_ask: bool = True
    """Whether agents may ask a person at all; one that asks all the same fails with its turn."""
    unknown_entries: Literal["refuse", "ignore"] = "refuse"
    """Answers to ids never issued, beside answers to those that were (TR-01)."""
    partial: Literal["refuse", "accumulate"] = "refuse"
    """Answers to some of what is open: refused, or kept until the rest has come (CR-3)."""
    on_message: Literal["refuse", "answer", "cancel"] = "refuse"
    """A message while something is open. `answer`: its text answers the one question that takes a
    string. `cancel`: all that is open is cancelled, then the message starts a turn (E1, E2, E9)."""
    on_disconnect: Literal["finish", "cancel"] = "finish"
    """Whether a run goes on to its end when its last reader has gone (N2)."""
    subagents: bool = False
    """Whether clients that declared no version are told of inner agents as well; those of before
    0.0.58 reject a run for it (SA-12, OC-18)."""
    expires_in: float | None = None
    """Seconds that a question stays open; None: for ever."""
    on_expire: OnExpire = "expire"
    """What becomes of it then; `approve` and `GivenAnswer` belong to tools and questions."""
    remind_at: float | None = 0.8
    """The part of its lifetime after which an open question is due for a reminder; None: never."""
    on_reminder: ReminderHook | None = None
    """Called once, in one process, for each question that is due for a reminder (R1)."""
    tool_errors: Literal["text", "fail"] = "text"
    """What becomes of a tool that raises: a result that says so, or the end of the turn."""
    detached_for: float | None = 900.0
    """Seconds after which a run that nobody reads is ended; None: never (N3)."""
    expiries_in_a_row: int | None = 3
    """Expiries, one after another and without a person, that end the turn; None: any number."""
    breakpoints: Breakpoints | None = None
    """Where every run waits to be looked at, before or after something named."""
    run_breakpoints: Literal["refuse", "allow"] = "refuse"
    """Whether requests may set more of them, in `forwardedProps.sayso.breakpoints`."""
    detached_at_once: int = 8
    """Turns that go on without a client at the same time, in one process."""

    def __post_init__(self) -> None:
        for name, values in _CHOICES.items():
            _check_choice(name, getattr(self, name), values)
        for name in ("legacy_answers", "subagents", "may_ask"):
            if not isinstance(value := getattr(self, name), bool):
                raise DeclarationError(f"{name} is True or False, not {value!r}")
        check_lifetime(self.expires_in, "expires_in")
        check_lifetime(self.detached_for, "detached_for")
        share = self.remind_at
        if share is not None and not (_is_number(share) and 0 < share < 1):
            raise DeclarationError(
                f"remind_at must be a part of the lifetime between 0 and 1, or None, not {share!r}"
            )
        hook = self.on_reminder
        if hook is not None and not _is_async(hook):
            raise DeclarationError("on_reminder must be an `async def` function of one Reminder")
        if not isinstance(self.breakpoints, Breakpoints | None):
            raise DeclarationError(
                "breakpoints must be Breakpoints(before=…, after=…), or None, "
                f"not {self.breakpoints!r}"
            )
        for name in ("expiries_in_a_row", "detached_at_once"):
            number = getattr(self, name)
            if number is None and name == "expiries_in_a_row":
                continue
            if type(number) is not int or number < 1:
                raise DeclarationError(f"{name} must be a whole number from 1, not {number!r}")


def declared(changes: OptionValues) -> Options:
    """The options of a server.

    Raises `DeclarationError` for a name that is no option, or a value that is none.
    """
    return _changed(Options(), changes, "Sayso")


def overridden(options: Options, changes: OptionValues, agent: str) -> Options:
    """The options of an agent: the server's, with its own instead.

    Raises `DeclarationError` for a name that is no option of an agent, or a value that is none.
    """
    for name in _OF_THE_SERVER:
        if name in changes:
            raise DeclarationError(
                f"{name} counts over all agents: set it on Sayso, not on agent {agent!r}"
            )
    return _changed(options, changes, f"agent {agent!r}")


def _changed(options: Options, changes: OptionValues, where: str) -> Options:
    known = [field.name for field in fields(Options)]
    for name in changes:
        if name not in known:
            raise DeclarationError(
                f"{where} has no option {name!r}; the options are {', '.join(known)}"
            )
    try:
        return replace(options, **changes)
    except DeclarationError as error:
        raise DeclarationError(f"{where}: {error}") from None


def shown(options: Options) -> dict[str, Any]:
    """The options of an agent as JSON, by their names on the wire; what is None is left out."""
    hidden = ("on_reminder", *_OF_THE_SERVER)
    return {
        first + "".join(map(str.capitalize, rest)): (
            value.to_json() if isinstance(value, Breakpoints) else value
        )
        for name, first, *rest in ((f.name, *f.name.split("_")) for f in fields(options))
        if name not in hidden and (value := getattr(options, name)) is not None
    }


def check_lifetime(seconds: Any, name: str) -> None:
    """Refuse what is no time to wait: seconds above zero, or None."""
    if seconds is None:
        return
    if not _is_number(seconds) or not isfinite(seconds) or seconds <= 0:
        raise DeclarationError(f"{name} must be seconds above zero, or None, not {seconds!r}")


def check_lease(seconds: Any) -> None:
    """Refuse what is no time to hold a thread without a word to the store."""
    if not _is_number(seconds) or not 1 <= seconds <= _LONGEST_LEASE:
        raise DeclarationError(
            f"lease must be seconds from 1 to {_LONGEST_LEASE}, not {seconds!r}: a thread is held "
            "for so long after the last word of its server, and renewed three times in between"
        )


def check_threads(number: Any) -> None:
    """Refuse what is no number of threads."""
    if type(number) is not int or number < 1:
        raise DeclarationError(
            f"tool_threads is a whole number from 1, not {number!r}: synchronous tools "
            "and steps need a thread to run in"
        )


def _check_choice(name: str, value: Any, values: tuple[str, ...]) -> None:
    if isinstance(value, str) and value in values:
        return
    listed = ", ".join(map(repr, values))
    hint = ""
    if name == "on_expire" and (value == "approve" or isinstance(value, GivenAnswer)):
        hint = "; that is spelled out for one tool or one question"
    raise DeclarationError(f"{name} must be one of {listed}, not {value!r}{hint}")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_async(hook: Any) -> bool:
    call = getattr(hook, "__call__", None)  # noqa: B004 - the method itself is wanted
    return iscoroutinefunction(hook) or iscoroutinefunction(call)
