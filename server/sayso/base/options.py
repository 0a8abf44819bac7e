"""The options of an agent: each with its values and its default. Pure.

The server has defaults of them (`Sayso(agent_defaults=AgentOptions(…))`), an agent its own;
`expires_in` and `on_expire` can be set per tool and per question as well.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from difflib import get_close_matches
from inspect import iscoroutinefunction
from math import isfinite
from typing import Any, Final, Literal, TypedDict, get_args

from sayso.base.breakpoints import Breakpoints
from sayso.base.errors import DeclarationError


@dataclass(frozen=True, slots=True)
class FallbackAnswer:
    """For `on_expire`: the question counts as answered with this JSON payload, by nobody."""

    payload: Any


OnExpire = Literal["expire", "hold", "deny", "cancel", "approve"] | FallbackAnswer
"""The expiry policy of a question that nobody has answered when its time is up.

`expire`: it counts as expired, which is no refusal. `hold`: it stays open and can only be
cancelled. `deny`: a gated call counts as denied, anything else as expired. `cancel`: it counts as
withdrawn. `approve`: the call runs; only for a tool that spells it out. A `FallbackAnswer`: that.
"""


Client = Literal["any", "copilotkit", "assistant-ui"]
"""The library of the client: a run tells what that library cannot continue from in another way."""

ToolErrors = Literal["type", "text", "fail"]
"""The effect of a tool's error: a result with the type of the error and an id under which
the log has its text; a result with the text itself; the end of the turn, which is told the type."""

Emission = Literal["standard", "legacy", "both"]
"""The form of questions to clients: the outcome of the run, the older dialect's `on_interrupt`
event, or both, which is still one interrupt (LG-13, F3)."""
LegacyValue = Literal["interrupt", "message"]
"""The value of that event: the interrupt as JSON text, or its message as it is (LG-02)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Legacy:
    """An agent's options for the older dialect.

    | option | values | default |
    |---|---|---|
    | `emission` | how clients are asked: `standard`, `legacy`, `both` | `standard` |
    | `value` | what `on_interrupt` carries: `interrupt`, `message` | `interrupt` |
    | `answers` | True: `forwardedProps.command` answers | True |

    `emission` is how clients are asked that do not say it themselves by `?interrupts=` (TR-26):
    `standard` by the outcome of the run, `legacy` by the event `on_interrupt`, or `both`. `value`
    is what that event carries: the whole `interrupt`, or its `message`. With `answers`,
    `forwardedProps.command` answers; without, it is the author's to read (LG-15).

    Raises:
        DeclarationError: for a value that an option does not have.
    """

    emission: Emission = "standard"
    value: LegacyValue = "interrupt"
    answers: bool = True

    def __post_init__(self) -> None:
        check_emission(self.emission, "emission of Legacy")
        _check_choice("value of Legacy", self.value, get_args(LegacyValue))
        if not isinstance(self.answers, bool):
            raise DeclarationError(f"answers of Legacy is True or False, not {self.answers!r}")

    def to_json(self) -> dict[str, Any]:
        """The same as JSON: `{"emission", "value", "answers"}`."""
        return {"emission": self.emission, "value": self.value, "answers": self.answers}


@dataclass(frozen=True, slots=True, kw_only=True)
class Reminder:
    """A reminder of a question that is still open, for an `on_reminder` hook."""

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
    client: Client
    legacy: Legacy
    interrupts_enabled: bool
    unknown_entries: Literal["refuse", "ignore"]
    partial: Literal["refuse", "accumulate"]
    on_message: Literal["refuse", "answer", "cancel"]
    on_disconnect: Literal["finish", "cancel"]
    subagents: bool
    expires_in: float | None
    on_expire: OnExpire
    remind_at: float | None
    on_reminder: ReminderHook | None
    tool_errors: ToolErrors
    unattended_timeout: float | None
    max_consecutive_expiries: int | None
    breakpoints: Breakpoints | None
    run_breakpoints: Literal["refuse", "allow"]


_CHOICES: Final[dict[str, tuple[str, ...]]] = {
    "refusals": ("error", "recover"),
    "client": get_args(Client),
    "unknown_entries": ("refuse", "ignore"),
    "partial": ("refuse", "accumulate"),
    "on_message": ("refuse", "answer", "cancel"),
    "on_disconnect": ("finish", "cancel"),
    "on_expire": ("expire", "hold", "deny", "cancel"),
    "tool_errors": get_args(ToolErrors),
    "run_breakpoints": ("refuse", "allow"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentOptions:
    """All options of an agent with their values (design 4).

    | option | values | default |
    |---|---|---|
    | `refusals` | `error`: RUN_ERROR; `recover`: the thread as it stands | `error` |
    | `client` | whose client it is: `any`, `copilotkit`, `assistant-ui` | `any` |
    | `legacy` | `Legacy(emission=…, value=…, answers=…)`: the older dialect | `Legacy()` |
    | `interrupts_enabled` | True: the agent may ask a person | True |
    | `unknown_entries` | ids never asked, beside others: `refuse`, `ignore` | `refuse` |
    | `partial` | some of the answers: `refuse`; `accumulate`: keep them | `refuse` |
    | `on_message` | text while something is open: `refuse`, `answer`, `cancel` | `refuse` |
    | `on_disconnect` | when the last reader has gone: `finish`, `cancel` | `finish` |
    | `subagents` | True: clients without a version are told of inner agents | False |
    | `expires_in` | seconds that a question stays open, None: forever | None |
    | `on_expire` | its end then: `expire`, `hold`, `deny`, `cancel` | `expire` |
    | `remind_at` | part of that time before a reminder, None: no reminder | 0.8 |
    | `on_reminder` | async hook that takes a `Reminder` | none |
    | `tool_errors` | a tool raised: result with `type` or `text`; `fail`: fails the turn | `type` |
    | `unattended_timeout` | seconds that a run continues without a reader, None: any | 900 |
    | `max_consecutive_expiries` | expiries without a person that end a turn, None: any | 3 |
    | `breakpoints` | `Breakpoints(before=…, after=…)`: where runs wait, None: nowhere | None |
    | `run_breakpoints` | breakpoints that a request sets: `refuse`, `allow` | `refuse` |

    `expires_in` and `on_expire` can be set per tool and question too. There `on_expire` may also be
    a `FallbackAnswer`, and for a tool `approve`. `answer` takes a text for the one question that
    waits for a string; `cancel` cancels what is open and then takes it as usual. A run under
    `on_disconnect="cancel"` begins no effect without a reader; a client that is back within 5 s
    finds that it continues.

    Raises:
        DeclarationError: for a value that an option does not have.
    """

    refusals: Literal["error", "recover"] = "error"
    """`error`: a refusal is a RUN_ERROR. `recover`: it shows the thread as it stands, its open
    interrupts with the problem in their metadata."""
    client: Client = "any"
    """The library of clients at `/agents/{agent}` without `?client=`; what it cannot continue from
    is told in its way, whatever `refusals` says."""
    legacy: Legacy = field(default_factory=Legacy)
    """The options for the older dialect."""
    interrupts_enabled: bool = True
    """True if the agent may ask a person; otherwise one that asks fails with its turn."""
    unknown_entries: Literal["refuse", "ignore"] = "refuse"
    """Answers to ids never issued, beside answers to those that were (TR-01)."""
    partial: Literal["refuse", "accumulate"] = "refuse"
    """Answers to some of what is open: refused, or kept until the rest has come (CR-3)."""
    on_message: Literal["refuse", "answer", "cancel"] = "refuse"
    """A message while something is open. `answer`: its text answers the one question that takes a
    string. `cancel`: all that is open is cancelled, then the message starts a turn (E1, E2, E9)."""
    on_disconnect: Literal["finish", "cancel"] = "finish"
    """The effect of the last reader's leaving: the run finishes, or is stopped (N2)."""
    subagents: bool = False
    """True if clients that declared no version are told of inner agents as well; those of before
    0.0.58 reject a run for it (SA-12, OC-18)."""
    expires_in: float | None = None
    """Seconds that a question stays open; None: forever."""
    on_expire: OnExpire = "expire"
    """The expiry policy; `approve` and `FallbackAnswer` belong to tools and single questions."""
    remind_at: float | None = 0.8
    """The part of its lifetime after which an open question is due for a reminder; None: never."""
    on_reminder: ReminderHook | None = None
    """Called once, in one process, for each question that is due for a reminder (R1)."""
    tool_errors: ToolErrors = "type"
    """The effect of a tool's error: a result that says so, or the end of the turn. Only `text`
    includes the text of the exception, which may hold secrets; the log has it in any case."""
    unattended_timeout: float | None = 900.0
    """Seconds after which a run that nobody reads is ended; None: never (N3)."""
    max_consecutive_expiries: int | None = 3
    """Expiries, one after another and without a person, that end the turn; None: any number."""
    breakpoints: Breakpoints | None = None
    """The breakpoints of every run, before or after something named."""
    run_breakpoints: Literal["refuse", "allow"] = "refuse"
    """The treatment of breakpoints of a request, in `forwardedProps.sayso.breakpoints`."""

    def __post_init__(self) -> None:
        for name, values in _CHOICES.items():
            _check_choice(name, getattr(self, name), values)
        for name in ("subagents", "interrupts_enabled"):
            if not isinstance(value := getattr(self, name), bool):
                raise DeclarationError(f"{name} is True or False, not {value!r}")
        if not isinstance(self.legacy, Legacy):
            raise DeclarationError(
                f"legacy is Legacy(emission=…, value=…, answers=…), not {self.legacy!r}"
            )
        check_lifetime(self.expires_in, "expires_in")
        check_lifetime(self.unattended_timeout, "unattended_timeout")
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
        number = self.max_consecutive_expiries
        if number is not None and (type(number) is not int or number < 1):
            raise DeclarationError(
                f"max_consecutive_expiries must be a whole number from 1, not {number!r}"
            )


def options_for_agent(defaults: AgentOptions, changes: OptionValues, agent: str) -> AgentOptions:
    """Make the options of an agent: the server's defaults, with its own instead.

    Raises:
        DeclarationError: for an unknown option, or an invalid value.
    """
    options = [field.name for field in fields(AgentOptions)]
    for name in changes:
        if name not in options:
            near = get_close_matches(name, options, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ":"
            raise DeclarationError(
                f"agent {agent!r} has no option {name!r}{hint} The options are {', '.join(options)}"
            )
    try:
        return replace(defaults, **changes)
    except DeclarationError as error:
        raise DeclarationError(f"agent {agent!r}: {error}") from None


def options_to_json(options: AgentOptions) -> dict[str, Any]:
    """Write the options of an agent as JSON, by their names on the wire, without those of None."""
    return {
        first + "".join(map(str.capitalize, rest)): (
            value.to_json() if isinstance(value, Breakpoints | Legacy) else value
        )
        for name, first, *rest in ((f.name, *f.name.split("_")) for f in fields(options))
        if name != "on_reminder" and (value := getattr(options, name)) is not None
    }


def check_lifetime(seconds: Any, name: str) -> None:
    """Check a lifetime: seconds above zero, or None.

    Raises:
        DeclarationError: it is anything else.
    """
    if seconds is None:
        return
    if not _is_number(seconds) or not isfinite(seconds) or seconds <= 0:
        raise DeclarationError(f"{name} must be seconds above zero, or None, not {seconds!r}")


def check_emission(value: Any, name: str) -> None:
    """Check a way to ask clients.

    Raises:
        DeclarationError: it is unknown.
    """
    _check_choice(name, value, get_args(Emission))


def _check_choice(name: str, value: Any, values: tuple[str, ...]) -> None:
    if isinstance(value, str) and value in values:
        return
    listed = ", ".join(map(repr, values))
    hint = ""
    if name == "on_expire" and (value == "approve" or isinstance(value, FallbackAnswer)):
        hint = "; that is spelled out for one tool or one question"
    raise DeclarationError(f"{name} must be one of {listed}, not {value!r}{hint}")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_async(hook: Any) -> bool:
    call = getattr(hook, "__call__", None)  # noqa: B004 - the method itself is wanted
    return iscoroutinefunction(hook) or iscoroutinefunction(call)
