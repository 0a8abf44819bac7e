"""Decisions that inform: the plan, its reason, its impact, and the options. Pure.

`Option` is what an author offers, `Decision` the choice of a person, `describe` the sentence that a
model gets about either kind of answer.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from sayso.agents.briefing import Described
from sayso.agents.outcomes import Answer, AnswerStatus, QuestionTerms, ToolCall
from sayso.agents.summaries import summarize
from sayso.schemas.errors import SchemaViolation
from sayso.schemas.responses import Choice, ResponseType, choice_schema
from sayso.schemas.schema import compile_schema
from sayso.schemas.typed import Conversion, schema_of


class ClarifyTerms(QuestionTerms, total=False):
    """Further members of a clarification, by name."""

    scope: Described | None
    blast_radius: Described | None


@dataclass(frozen=True, slots=True)
class Option:
    """One option: its label on the screen, the `action` that code sees, its consequence.

    `schema` is the type of the values that a person may set with it: a pydantic model, a Python
    type or a JSON Schema object; they come back as `decision.params`. `data` is the author's own:
    it comes back as `decision.option.data`, and nobody is shown it. `permits` is a call of a tool:
    whoever chooses this option has approved exactly that call, once in this turn, as far as its
    rules ask them.
    """

    label: str
    action: str
    consequence: str = ""
    schema: Any = None
    data: Any = None
    permits: ToolCall | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """The choice of a person; `option` is None unless `resolved`.

    `params` are values of the option's type, None for an option without one. `note` is a comment
    that the person added. `by` is the authenticated subject, None when nobody decided; `approvers`
    are all who agreed, where it took several. `request` is the run input that brought the answer,
    None when it came another way.
    """

    status: AnswerStatus
    question: str
    option: Option | None = None
    params: Any = None
    note: str | None = None
    by: str | None = None
    approvers: tuple[str, ...] = ()
    metadata: dict[str, Any] = field(default_factory=dict)
    request: Any = None
    text: str = ""

    def __str__(self) -> str:
        """The decision, as `describe` says it."""
        meaning = "" if self.option is None else self.option.consequence
        return summarize(self.question, self.status, self.text, by=self.by, meaning=meaning)

    @property
    def action(self) -> str | None:
        """The action of the chosen option; None unless `resolved`."""
        return None if self.option is None else self.option.action

    @property
    def resolved(self) -> bool:
        """True if a person chose."""
        return self.status == "resolved"

    @property
    def cancelled(self) -> bool:
        """True if a person withdrew the question without choosing."""
        return self.status == "cancelled"

    @property
    def expired(self) -> bool:
        """True if nobody chose in time."""
        return self.status == "expired"


def describe(answer: Decision | Answer[Any]) -> str:
    """The sentence that a model gets, as user text, about a person's decision or answer.

    If nothing was decided, it says so just as plainly: no model may take silence for a yes.
    """
    return str(answer)


@dataclass(frozen=True, slots=True)
class ChosenOption:
    """The choice in a payload, before it is known who made it."""

    option: Option
    params: Any
    note: str | None


def decision_type(
    title: str, options: Sequence[Option], runs: Mapping[str, str] = MappingProxyType({})
) -> ResponseType:
    """Make the schema over some options, and the reader of a payload that fits it.

    `runs` says, by action, what a choice permits; that follows the consequence.

    Raises:
        ValueError: options that cannot be offered.
        TypeError: something other than an `Option`.
        DeclarationError: a type without a JSON Schema.
    """
    _check(options)
    by_action = {option.action: (option, _params(option)) for option in options}
    choices = [
        Choice(
            action=option.action,
            title=option.label,
            description=" ".join(filter(None, (option.consequence, runs.get(option.action)))),
            params=params.schema if params else None,
            needs_params=params is not None and params.required,
        )
        for option, params in by_action.values()
    ]

    def chosen(payload: dict[str, Any]) -> tuple[Option, _Params | None]:
        chosen_option = by_action.get(payload["action"])
        if chosen_option is None:
            offered = ", ".join(map(repr, by_action))
            raise ValueError(f"/action: {payload['action']!r} is none of {offered}")
        return chosen_option

    def read(payload: dict[str, Any]) -> ChosenOption:
        option, params = chosen(payload)
        value = params and params.conversion.decode(payload.get("params", params.absent))
        return ChosenOption(option, value, payload.get("note"))

    def problems(payload: dict[str, Any]) -> tuple[SchemaViolation, ...]:
        _, params = chosen(payload)
        if params is None:
            return ()
        wrong = params.conversion.errors(payload.get("params", params.absent))
        return tuple(SchemaViolation(f"/params{error.pointer}", error.message) for error in wrong)

    stricter = any(params is not None for _, params in by_action.values())
    return ResponseType(choice_schema(title, choices), read, problems, stricter)


def _check(options: Sequence[Option]) -> None:
    if not options:
        raise ValueError("a decision needs options: Option(label, action, consequence)")
    for option in options:
        if not isinstance(option, Option):
            raise TypeError(
                f"{option!r} is not an Option: write Option(label, action, consequence)"
            )
        for name in ("label", "action"):
            value = getattr(option, name)
            if not isinstance(value, str) or not value.strip():
                raise ValueError(f"{name} of {option!r} must be a text that says something")
    actions = [option.action for option in options]
    twice = sorted({action for action in actions if actions.count(action) > 1})
    if twice:
        raise ValueError(f"two options have the action {', '.join(twice)}: give each its own")


@dataclass(frozen=True, slots=True)
class _Params:
    """The type of an option's params; `absent` stands for params left out, unless required."""

    schema: dict[str, Any]
    conversion: Conversion
    required: bool
    absent: Any


def _params(option: Option) -> _Params | None:
    if option.schema is None:
        return None
    schema, conversion = schema_of(option.schema)
    compiled = compile_schema(schema)
    possible: tuple[Any, ...] = ({}, None)
    taken = [value for value in possible if not compiled.errors(value)]
    return _Params(schema, conversion, not taken, taken[0] if taken else None)
