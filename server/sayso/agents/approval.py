"""The tool calls that ask a person first: the values that an author gives to `approval=`. Pure.

`never`, `always`, `always(by=…)`, `when(predicate)`, `deny(predicate)`, `by_effect(…)`, `rule(fn)`,
or a `Policy` of lists. Rules decide on the validated, effective arguments; one that raises asks.
"""

import inspect
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, Final, Unpack

from sayso.agents.asking import AskOptions, ask_terms
from sayso.agents.policy import Policy as Policy
from sayso.agents.policy import ProposedCall as ProposedCall
from sayso.agents.policy import Rule, Verdict, facts, rule_name
from sayso.base.approvers import Approvers as Approvers
from sayso.base.errors import DeclarationError
from sayso.base.records import Principal
from sayso.schemas.remember import Remember as Remember

never: Final = Policy.of(Rule(name="never", verdict="allow"))
"""Runs without asking."""


class _Always(Policy):
    """Asks about every call: as it is, or called, in a certain way."""

    __slots__ = ()

    def __call__(
        self,
        *,
        name: str = "always",
        version: str | int | None = None,
        **how: Unpack[AskOptions],
    ) -> Policy:
        """Asks about every call, in a certain way: `always(by="lead", approvals=2)`.

        `how` is described in `AskOptions`: `by`, `approvals`, `not_by`, `approvers`, `expires_in`,
        `remember`. `version` counts instead of the code of the functions that decide: change it
        with what they call.
        """
        return Policy.of(Rule(name=name, asking=ask_terms(**how), version=version))


always: Final = _Always.of(Rule(name="always"))
"""Asks the owner of the thread for every call; `always(by=…)` asks in a certain way."""


def when(
    predicate: Callable[..., object],
    *,
    name: str | None = None,
    version: str | int | None = None,
    **how: Unpack[AskOptions],
) -> Policy:
    """Asks when the predicate is true; it takes any of the tool's arguments by name.

    The other arguments are those of `always`.

    Raises:
        DeclarationError: a predicate that is asynchronous, or takes arguments by position.
    """
    terms = ask_terms(**how)
    called = name or rule_name("when", predicate)
    return Policy.of(
        _argued(Rule(name=called, asking=terms, version=version), predicate),
        otherwise=Policy.of(Rule(name=called, verdict="allow")),
    )


def deny(predicate: Callable[..., object], *, name: str | None = None) -> Policy:
    """Refuses calls for which the predicate is true, by itself, and lets others run.

    Together with a policy that asks: `all_of(deny(…), always)`.
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
    version: str | int | None = None,
    **how: Unpack[AskOptions],
) -> Rule:
    """For the lists of a `Policy`: calls of some tools for whose arguments the predicate is true.

    `tools` is a name, or a pattern with `*` and `?`; a pattern means those tools that have the
    arguments which the predicate takes. The other arguments are those of `always`, of use in
    `ask=`.
    """
    pattern: object = tools
    if not isinstance(pattern, str) or not pattern:
        raise DeclarationError(f"approval.calls takes a tool's name or a pattern, not {tools!r}")
    terms = ask_terms(**how)
    rule = Rule(
        name=name or rule_name(tools, predicate), tools=tools, asking=terms, version=version
    )
    return rule if predicate is None else _argued(rule, predicate)


def rule(
    function: Callable[[ProposedCall], Verdict | None],
    *,
    name: str | None = None,
    version: str | int | None = None,
    **how: Unpack[AskOptions],
) -> Policy:
    """Lets a function of the whole call decide: it returns `allow`, `ask` or `deny`.

    It sees the caller, the tool's declaration, and the arguments. None asks too, and so does
    anything else. The other arguments are those of `always`.
    """
    _check_sync(function)
    terms = ask_terms(**how)

    def decided(call: ProposedCall) -> Verdict:
        verdict = function(call)
        return "ask" if verdict is None else verdict

    return Policy.of(
        Rule(
            name=name or rule_name("rule", function),
            judge=decided,
            asking=terms,
            decided_by=(function,),
            version=version,
        )
    )


def all_of(*policies: Policy) -> Policy:
    """Combines policies: what one denies is denied; else what one asks about is asked about."""
    if not policies or not all(isinstance(policy, Policy) for policy in policies):
        raise DeclarationError(f"approval.all_of takes policies, not {policies!r}")
    return Policy.all_of(*policies)


def by_effect(
    *,
    scale_over: float = 100,
    granted: Callable[[Principal, str], object] | None = None,
    beyond: Callable[[ProposedCall], object] | None = None,
    routine: Iterable[str] = (),
    version: str | int | None = None,
    **how: Unpack[AskOptions],
) -> Policy:
    """Asks about calls that deserve a person's judgement, by what their tools declare.

    Reads never ask, nor do tools that `routine` names: they are pre-authorised. It asks about:

    - an irreversible call that touches more than `scale_over` things, or does not say how many;
    - a call `beyond` what was requested;
    - a tool whose `permission` the caller was not `granted`: by default, is none of its roles.

    Everything else runs. The other arguments are those of `always`.
    """
    if isinstance(routine, str):
        raise DeclarationError(f"routine= of by_effect takes a list: write [{routine!r}]")
    if isinstance(scale_over, bool) or not isinstance(scale_over, int | float):
        raise DeclarationError(f"scale_over= of by_effect is a number, not {scale_over!r}")
    for hook in (granted, beyond):
        if hook is not None:
            _check_sync(hook)
    terms = ask_terms(**how)

    def permitted(call: ProposedCall) -> bool:
        if call.permission is None:
            return True
        if granted is not None:
            return bool(granted(call.caller, call.permission))
        return call.permission in call.caller.roles

    def harmless(
        verdict: Callable[[ProposedCall], bool],
    ) -> Callable[[ProposedCall], Verdict | None]:
        return lambda call: "ask" if call.effect != "read" and verdict(call) else None

    def large(call: ProposedCall) -> bool:
        return call.effect == "irreversible" and (call.scale is None or call.scale > scale_over)

    def uncounted(call: ProposedCall) -> tuple[str, ...]:
        left = () if call.scale is not None else ("It does not say how many things it touches.",)
        return (*facts(call), *left)

    hooks: dict[str, tuple[Callable[..., object], ...]] = {
        "permission": () if granted is None else (granted,),
        "beyond": () if beyond is None else (beyond,),
    }
    guidelines: list[
        tuple[str, Callable[[ProposedCall], bool], Callable[[ProposedCall], Iterable[str]]]
    ] = [
        ("irreversible", large, uncounted),
        (
            "permission",
            lambda call: not permitted(call),
            lambda call: (f"{call.caller.subject} lacks the permission {call.permission}.",),
        ),
    ]
    if beyond is not None:
        went = ("It goes beyond what was asked for.",)
        guidelines.append(("beyond", lambda call: bool(beyond(call)), lambda call: went))
    careful = Policy.of(
        *(
            Rule(
                name=f"by_effect:{name}",
                judge=harmless(verdict),
                asking=terms,
                parameters=(("guideline", name), ("scale_over", scale_over)),
                decided_by=hooks.get(name, ()),
                version=version,
                because=because,
            )
            for name, verdict, because in guidelines
        ),
        otherwise=Policy.of(Rule(name="by_effect:ordinary", verdict="allow")),
    )
    return Policy.of(
        *(Rule(name=f"by_effect:routine:{t}", verdict="allow", tools=t) for t in routine),
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
    return replace(rule, predicate=predicate, names=names, decided_by=(predicate,))


def _check_sync(function: Any) -> None:
    if not callable(function):
        raise DeclarationError(f"an approval rule is a function, not {function!r}")
    call = getattr(function, "__call__", None)  # noqa: B004 - the method itself is wanted
    if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(call):
        raise DeclarationError(
            f"approval rule {function!r} is asynchronous: rules answer at once, so look things up "
            "in a step before the call"
        )
