"""Options of a tool, by name: who decides about its calls, what they show, how they run. Pure."""

import typing
from collections.abc import Awaitable, Callable
from typing import Any, Literal, TypedDict

from sayso.agents.briefing import Impact, Said
from sayso.agents.policy import Effect, Policy
from sayso.base.approvers import Approvers
from sayso.base.default import Default
from sayso.base.options import OnExpire


class Happened(typing.NamedTuple):
    """A `verify=` hook found that the effect took place; `value` is its result."""

    value: Any = None


class DidNotHappen(typing.NamedTuple):
    """A `verify=` hook found that the effect did not take place; it may run again."""


Verify = Callable[[str], Awaitable[Happened | DidNotHappen]]
"""Asked with the call's key after a crash between started and done."""


OnError = Literal["type", "text", "fail", "ask"]
"""An error becomes a result that gives its type, or its text; fails the turn; or is shown to a
person: retry, skip or stop."""

Scale = str | Callable[..., float]
"""The number of things a call touches: an argument that says or holds them, or a function."""


class CallOptions(TypedDict, total=False):
    """The options of a tool that say how its calls are decided, shown and run, by name."""

    approval: Policy | None
    editable: bool
    idempotent: bool
    timeout: float | None
    verify: Verify | None
    expires_in: float | Default | None
    on_expire: OnExpire | Default
    effect: Effect
    scale: Scale | None
    permission: str | None
    complete: bool
    on_error: OnError | None
    scrub: bool
    reveal: bool
    approvers: Approvers | None
    title: Said | None
    why: Said | None
    impact: Impact | None


class ToolOptions(CallOptions, total=False):
    """The options of a tool, by name; see `Sayso.tool`."""

    name: str | None
    description: str | None
