"""The approvals of a file: who is asked about calls, in words, by rules on arguments, or in Python.

default_approval: ask              # never, ask, deny or guidelines, or the import path of a Policy
approve:                           # of an agent, by a tool's name or a pattern
  issue_refund: {ask: true, when: {amount: {gt: 100}}, editable: true, by: [lead], of: 1}
  "delete_*": deny
"""

import fnmatch
import operator
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from pydantic_core import to_jsonable_python

from sayso.agents import approval
from sayso.agents.approval import Policy
from sayso.agents.asking import AskTerms, ask_terms
from sayso.agents.policy import Rule
from sayso.agents.tools import Tool
from sayso.base import jsonvalue
from sayso.base.default import DEFAULT
from sayso.base.errors import DeclarationError
from sayso.ops.importing import ImportPathError, load_object
from sayso.ops.yamlfile import Value, listed

WORDS: Final[dict[str, Policy]] = {
    "never": approval.never,
    "ask": approval.always,
    "deny": Policy.of(Rule(name="deny", verdict="deny")),
    "guidelines": approval.by_effect(),
}
"""Policies that a file names by a word."""
_ASKING: Final = ("ask", "when", "editable", "by", "of", "expires_in")
_OF_ASKING: Final = ("when", "by", "of", "expires_in")
_WILD: Final = frozenset("*?[")
_MAX_SHOWN: Final = 60
"""Characters of a condition in the name of its rule."""


def _matches(value: Any, pattern: str) -> bool:
    return re.search(pattern, value) is not None


_COMPARISONS: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "gt": operator.gt,
    "ge": operator.ge,
    "lt": operator.lt,
    "le": operator.le,
    "eq": operator.eq,
    "ne": operator.ne,
    "in": lambda value, values: value in values,
    "matches": _matches,
}


@dataclass(frozen=True, slots=True)
class _Condition:
    """An argument, compared with a value of the file."""

    argument: str
    comparison: str
    value: Any

    def holds(self, arguments: Mapping[str, Any]) -> bool:
        return bool(
            _COMPARISONS[self.comparison](_comparable(arguments[self.argument]), self.value)
        )

    def __str__(self) -> str:
        text = f"{self.argument} {self.comparison} {jsonvalue.encode(self.value).decode()}"
        return text if len(text) <= _MAX_SHOWN else text[: _MAX_SHOWN - 1] + "…"


def _comparable(value: Any) -> Any:
    """An argument as JSON has it, but with all digits of a decimal number."""
    return value if isinstance(value, Decimal) else to_jsonable_python(value)


@dataclass(frozen=True, slots=True)
class _Entry:
    """The words of a file on the calls of a tool, or of those that a pattern names."""

    where: Value
    pattern: str
    policy: Policy | None
    editable: bool | None = None
    when: Value | None = None
    compared: tuple[str, ...] = ()

    @property
    def is_wild(self) -> bool:
        return not _WILD.isdisjoint(self.pattern)


@dataclass(frozen=True, slots=True)
class Approvals:
    """The words of a file on the calls of one agent."""

    entries: tuple[_Entry, ...] = ()

    @classmethod
    def read(cls, where: Value) -> "Approvals":
        """Read `approve`; what is wrong in it is noted and left out."""
        return cls(tuple(e for key, v in where.any_members() if (e := _entry(key, v)) is not None))

    def policies(self, tools: Iterable[str] = ()) -> dict[str, Policy]:
        """Its policies by name or pattern, for calls of which nobody here knows the tools.

        `tools` are those of this server, whose calls alone can be edited.
        """
        here = list(tools)
        for entry in self.entries:
            if entry.editable is not None and not fnmatch.filter(here, entry.pattern):
                entry.where.wrong("editable: is for tools of this server")
        return {e.pattern: e.policy for e in self.entries if e.policy is not None}

    def applied(
        self, tools: Iterable[Tool[..., Any]], default: Policy, *, others: bool = False
    ) -> list[Tool[..., Any]]:
        """The tools under what the file says, beside what they say themselves.

        `default` is for those that neither say anything themselves nor are named. Notes rules that
        do not fit a tool, and names that none has, unless they may be of `others`.
        """
        tools = list(tools)
        names = [tool.name for tool in tools]
        for entry in self.entries:
            if not others and not entry.is_wild and entry.pattern not in names:
                entry.where.wrong(
                    f"the agent has no such tool; there are {listed(names) or 'none'}"
                )
        return [self._applied(tool, default) for tool in tools]

    def _applied(self, tool: Tool[..., Any], default: Policy) -> Tool[..., Any]:
        policies, editable = [], []
        for entry in self.entries:
            if not fnmatch.fnmatchcase(tool.name, entry.pattern):
                continue
            if entry.editable is not None:
                editable.append(entry)
            if entry.policy is None:
                continue
            takes = tool.parameters.get("properties", {})
            missing = [name for name in entry.compared if name not in takes]
            if missing and not entry.is_wild:
                there = listed(list(takes)) or "nothing"
                (entry.when or entry.where).wrong(
                    f"the tool has no {listed(missing)}; it takes {there}"
                )
            if missing:
                continue  # a pattern means the tools that have the arguments of its `when`
            policies.append(entry.policy)
        if not policies and not editable:
            return tool
        own = tool.approval or tool.declared_under or approval.never
        try:
            ruled = tool.under(
                approval.all_of(own, *policies) if policies else tool.approval,
                editable=all(bool(e.editable) for e in editable) if editable else None,
            )
            ruled.check_editable(ruled.approval or approval.all_of(own, default))
            return ruled
        except DeclarationError as error:
            (editable[0] if editable else self.entries[0]).where.wrong(str(error))
            return tool


def policy_of(where: Value) -> Policy | None:
    """The policy that a word or an import path names; notes what names none."""
    text = where.text()
    if text is None or text in WORDS:
        return WORDS.get(text or "")
    if ":" not in text:
        where.wrong(f"is none of {listed(tuple(WORDS))}, and no import path of a policy")
        return None
    try:
        loaded = load_object(text)
    except ImportPathError as error:
        where.wrong(str(error))
        return None
    if not isinstance(loaded, Policy):
        where.wrong("what is imported is no policy, such as approval.always")
        return None
    return loaded


def _entry(pattern: str, where: Value) -> _Entry | None:
    if where.is_scalar:
        policy = policy_of(where)
        return None if policy is None else _Entry(where, pattern, policy)
    members = where.members(_ASKING)
    asks = _flag(members["ask"]) if "ask" in members else None
    editable = _flag(members["editable"]) if "editable" in members else None
    if asks is False:
        members["ask"].wrong(
            "must be true: a tool that is never asked about has never in its place"
        )
    if asks is None and "ask" not in members:
        for name in _OF_ASKING:
            if name in members:
                members[name].wrong("says how a person is asked: write ask: true beside it")
        if not where.node.value:
            where.wrong("says nothing: write ask: true, or a word such as ask")
        return None if editable is None else _Entry(where, pattern, None, editable)
    terms = _terms(where, members)
    conditions = _conditions(members["when"]) if "when" in members else ()
    if terms is None or conditions is None:
        return None
    policy = _asking(pattern, terms, conditions)
    compared = tuple(condition.argument for condition in conditions)
    return _Entry(where, pattern, policy, editable, members.get("when"), compared)


def _asking(pattern: str, terms: AskTerms, conditions: tuple[_Condition, ...]) -> Policy:
    """A policy that asks where all conditions hold."""
    if not conditions:
        return Policy.of(Rule(name="always", asking=terms))

    def holds(**arguments: Any) -> bool:
        return all(condition.holds(arguments) for condition in conditions)

    rule = Rule(
        name=" and ".join(map(str, conditions)),
        tools=pattern,
        predicate=holds,
        names=tuple(dict.fromkeys(condition.argument for condition in conditions)),
        asking=terms,
        parameters=tuple((f"{c.argument} {c.comparison}", c.value) for c in conditions),
    )
    return Policy.of(rule, otherwise=approval.never)


def _terms(where: Value, members: Mapping[str, Value]) -> AskTerms | None:
    by: list[str] | None = None
    if "by" in members:
        if members["by"].is_scalar:
            by = [text] if (text := members["by"].text()) is not None else []
        else:
            by = [text for item in members["by"].items() if (text := item.text()) is not None]
    expires_in: Any = DEFAULT
    if "expires_in" in members:
        expires_in = members["expires_in"].checked(
            lambda value: value is None or (type(value) in (int, float) and 0 < value < 1e12),
            "seconds above zero, or null for no end",
        )
    try:
        return ask_terms(
            by=by,
            approvals=members["of"].value() if "of" in members else 1,
            expires_in=expires_in,
        )
    except DeclarationError as error:
        members.get("of", members.get("by", where)).wrong(_without_values(error))
        return None


def _without_values(error: DeclarationError) -> str:
    """Say what is wrong with approvers, in the words of a file and without what stands there."""
    text = str(error).partition(", not ")[0]
    return text.replace("approvals=", "of:").replace("by=", "by:")


def _conditions(where: Value) -> tuple[_Condition, ...] | None:
    """Read `when`: comparisons by argument, all of which have to hold; None if one is wrong."""
    conditions: list[_Condition] = []
    complete = True
    for argument, compared in where.any_members():
        members = compared.members(tuple(_COMPARISONS))
        complete = complete and bool(members)
        for name, operand in members.items():
            problem = _misfit(name, operand.value())
            if problem is not None:
                operand.wrong(problem)
                complete = False
            conditions.append(_Condition(argument, name, operand.value()))
    if complete and not conditions:
        where.wrong(f"compares nothing: write an argument with one of {listed(list(_COMPARISONS))}")
    return tuple(conditions) if complete and conditions else None


def _misfit(comparison: str, value: Any) -> str | None:
    """Why nothing can be compared with a value; None if something can."""
    if comparison in ("gt", "ge", "lt", "le") and type(value) not in (int, float, str):
        return "must be a number or a text"
    if comparison == "in" and not isinstance(value, list):
        return "must be a list"
    if comparison == "matches":
        try:
            re.compile(value)
        except (re.error, TypeError):
            return "must be a regular expression"
    return None


def _flag(where: Value) -> bool | None:
    value: bool | None = where.checked(lambda value: isinstance(value, bool), "true or false")
    return value
