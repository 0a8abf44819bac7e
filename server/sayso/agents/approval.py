"""Which tool calls ask a person first: what an author writes as `approval=`. Pure.

`never`, `always`, `when(predicate)`, `ask(by=…)`, `deny(predicate)`, `guidelines(…)`, `judge(fn)`,
or a `Policy` of lists. Rules decide on the validated, effective arguments; one that raises asks.
"""

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from sayso.agents.asking import Remember, asking
from sayso.agents.policy import Policy, Proposed, Rule, Verdict, rule_name
from sayso.errors import DeclarationError
from sayso.options import DEFAULT, Default
from sayso.records import Principal

__all__ = [
    "Policy",
    "Proposed",
    "Remember",
    "always",
    "ask",
    "calls",
    "deny",
    "guidelines",
    "judge",
    "never",
    "strictest",
    "when",
]

never = Policy.of(Rule(name="never", verdict="allow"))
"""Runs without asking."""

always = Policy.of(Rule(name="always"))
"""Asks the owner of the thread for every call."""


def when(
    predicate: Callable[..., object],
    *,
    name: str | None = None,
    by: str | Sequence[str] | None = None,
    of: int | Mapping[str, int] = 1,
    expires_in: float | Default | None = DEFAULT,
    remember: Remember | bool = False,
) -> Policy:
    """Asks when the predicate is true; it takes any of the tool's arguments by name.

    The other arguments are those of `ask`. Raises `DeclarationError` for a predicate whose
    parameters cannot be passed by name, or that is asynchronous.
    """
    how = asking(by=by, of=of, expires_in=expires_in, remember=remember)
    called = name or rule_name("when", predicate)
    return Policy.of(
        _argued(Rule(name=called, asking=how), predicate),
        otherwise=Policy.of(Rule(name=called, verdict="allow")),
    )


def ask(
    *,
    name: str = "ask",
    by: str | Sequence[str] | None = None,
    of: int | Mapping[str, int] = 1,
    expires_in: float | Default | None = DEFAULT,
    remember: Remember | bool = False,
) -> Policy:
    """Asks for every call, in a certain way.

    `by`: roles that may answer instead of the thread's owner, of which an approver has one. `of`:
    how many different people have to say the same, or for each role how many who have it. The
    question stays open for `expires_in` seconds. `remember`: whether a yes may be remembered, or in
    which ways (a `Remember`).
    """
    how = asking(by=by, of=of, expires_in=expires_in, remember=remember)
    return Policy.of(Rule(name=name, asking=how))


def deny(predicate: Callable[..., object], *, name: str | None = None) -> Policy:
    """Refuses calls for which the predicate is true, by itself, and lets others run.

    Together with a policy that asks: `strictest(deny(…), always)`.
    """
    called = name or rule_name("deny", predicate)
    return Policy.of(
        _argued(Rule(name=called, verdict="deny"), predicate),
        otherwise=Policy.of(Rule(name=called, verdict="allow")),
    )


def calls(
    tools: str,
    predicate: Callable[..., object] | None = None,
    *,
    name: str | None = None,
    by: str | Sequence[str] | None = None,
    of: int | Mapping[str, int] = 1,
    expires_in: float | Default | None = DEFAULT,
    remember: Remember | bool = False,
) -> Rule:
    """For the lists of a `Policy`: calls of some tools for whose arguments the predicate is true.

    `tools` is a name, or a pattern with `*` and `?`; a pattern means those tools that have the
    arguments which the predicate takes. The other arguments, of use in `ask=`, are those of `ask`.
    """
    given: object = tools
    if not isinstance(given, str) or not given:
        raise DeclarationError(f"approval.calls takes a tool's name or a pattern, not {tools!r}")
    how = asking(by=by, of=of, expires_in=expires_in, remember=remember)
    rule = Rule(name=name or rule_name(tools, predicate), tools=tools, asking=how)
    return rule if predicate is None else _argued(rule, predicate)


def judge(
    function: Callable[[Proposed], Verdict | None],
    *,
    name: str | None = None,
    by: str | Sequence[str] | None = None,
    of: int | Mapping[str, int] = 1,
    expires_in: float | Default | None = DEFAULT,
    remember: Remember | bool = False,
) -> Policy:
    """Leaves it to a function of the whole call: it returns `allow`, `ask` or `deny`.

    It sees who is calling, what the tool declares, and the arguments; None and everything else asks
    too. The other arguments are those of `ask`.
    """
    _check_sync(function)
    how = asking(by=by, of=of, expires_in=expires_in, remember=remember)

    def decided(call: Proposed) -> Verdict:
        said = function(call)
        return "ask" if said is None else said

    return Policy.of(Rule(name=name or rule_name("judge", function), judge=decided, asking=how))


def strictest(*policies: Policy) -> Policy:
    """All of these at once: what one denies is denied, what one asks about is asked about."""
    if not policies or not all(isinstance(policy, Policy) for policy in policies):
        raise DeclarationError(f"approval.strictest takes policies, not {policies!r}")
    return Policy.strictest(*policies)


def guidelines(
    *,
    scale_over: float = 100,
    granted: Callable[[Principal, str], object] | None = None,
    beyond: Callable[[Proposed], object] | None = None,
    routine: Iterable[str] = (),
    by: str | Sequence[str] | None = None,
    of: int | Mapping[str, int] = 1,
    expires_in: float | Default | None = DEFAULT,
    remember: Remember | bool = False,
) -> Policy:
    """Asks where a person's judgement is worth its time, by what tools declare of themselves.

    Reads never ask, nor do tools that `routine` names: they are pre-authorised. Asks for what is
    irreversible and touches more than `scale_over` things, or does not say how many; for what goes
    `beyond` what was requested; and for a tool whose `permission` the caller was not `granted`: by
    default, is none of the caller's roles. Everything else runs. The other arguments are those of
    `ask`.
    """
    if isinstance(routine, str):
        raise DeclarationError(f"routine= of guidelines takes a list: write [{routine!r}]")
    if isinstance(scale_over, bool) or not isinstance(scale_over, int | float):
        raise DeclarationError(f"scale_over= of guidelines is a number, not {scale_over!r}")
    for hook in (granted, beyond):
        if hook is not None:
            _check_sync(hook)
    how = asking(by=by, of=of, expires_in=expires_in, remember=remember)

    def permitted(call: Proposed) -> bool:
        if call.permission is None:
            return True
        if granted is not None:
            return bool(granted(call.caller, call.permission))
        return call.permission in call.caller.roles

    def harmless(verdict: Callable[[Proposed], bool]) -> Callable[[Proposed], Verdict | None]:
        return lambda call: "ask" if call.effect != "read" and verdict(call) else None

    def large(call: Proposed) -> bool:
        return call.effect == "irreversible" and (call.scale is None or call.scale > scale_over)

    asked: list[tuple[str, Callable[[Proposed], bool]]] = [
        ("irreversible", large),
        ("permission", lambda call: not permitted(call)),
    ]
    if beyond is not None:
        asked.append(("beyond", lambda call: bool(beyond(call))))
    careful = Policy.of(
        *(
            Rule(name=f"guidelines:{name}", judge=harmless(verdict), asking=how)
            for name, verdict in asked
        ),
        otherwise=Policy.of(Rule(name="guidelines:ordinary", verdict="allow")),
    )
    return Policy.of(
        *(Rule(name=f"guidelines:routine:{t}", verdict="allow", tools=t) for t in routine),
        otherwise=careful,
    )


def _argued(rule: Rule, predicate: Callable[..., object]) -> Rule:
    _check_sync(predicate)
    parameters = inspect.signature(predicate).parameters.values()
    if any(p.kind in (p.VAR_POSITIONAL, p.POSITIONAL_ONLY) for p in parameters):
        raise DeclarationError(
            f"approval rule {predicate!r} takes arguments by position; "
            "name the tool's arguments that it needs"
        )
    names: tuple[str, ...] | None = tuple(p.name for p in parameters if p.kind is not p.VAR_KEYWORD)
    if any(p.kind is p.VAR_KEYWORD for p in parameters):
        names = None
    return Rule(
        name=rule.name,
        verdict=rule.verdict,
        tools=rule.tools,
        predicate=predicate,
        names=names,
        asking=rule.asking,
    )


def _check_sync(function: Any) -> None:
    if not callable(function):
        raise DeclarationError(f"an approval rule is a function, not {function!r}")
    call = getattr(function, "__call__", None)  # noqa: B004 - the method itself is wanted
    if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(call):
        raise DeclarationError(
            f"approval rule {function!r} is asynchronous: rules answer at once, so look things up "
            "in a step before the call"
        )
