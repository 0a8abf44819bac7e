"""Decisions that inform: what is planned, why, what it does, and which ways there are to go. Pure.

`Option` is what an author offers, `Decision` what a person made of it, `describe` the sentence
that a model gets about either kind of answer.
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
    """One way to go: its name on the screen, the `action` that code sees, what follows from it.

    `schema` is the type of what a person may set about it: a pydantic model, a Python type or a
    JSON Schema object; what they set is `decision.params`. `data` is the author's own: it comes
    back as `decision.option.data`, and nobody is shown it. `permits` is a call of a tool: whoever
    chooses this way has approved exactly that call, once in this turn, as far as its rules ask
    them.
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

    `params` are as the option's type has them, None for an option without. `note` is a word that
    the person added. `by` is the authenticated subject, None when nobody decided. `request` is the
    run input that brought the answer, None when it came another way.
    """

    status: AnswerStatus
    question: str
    option: Option | None = None
    params: Any = None
    note: str | None = None
    by: str | None = None
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
        """A person chose."""
        return self.status == "resolved"

    @property
    def cancelled(self) -> bool:
        """A person withdrew the question without choosing."""
        return self.status == "cancelled"

    @property
    def expired(self) -> bool:
        """Nobody chose in time."""
        return self.status == "expired"


def describe(answer: Decision | Answer[Any]) -> str:
    """The sentence that a model gets, as user text, about what a person decided or answered.

    It says as plainly that nothing was decided: a model takes no silence for a yes.
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
    """The schema over some options, and how a payload that fits it is read.

    `runs` says, by action, what a choice permits; that stands behind the consequence.

    ValueError for options that cannot be offered, `DeclarationError` for a type without
    a JSON Schema.
    """
    _check(options)
    by_action = {one.action: (one, _params(one)) for one in options}
    choices = [
        Choice(
            action=one.action,
            title=one.label,
            description=" ".join(filter(None, (one.consequence, runs.get(one.action)))),
            params=params.schema if params else None,
            needs_params=params is not None and params.required,
        )
        for one, params in by_action.values()
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
            raise TypeError(f"{option!r} is no Option: write Option(label, action, consequence)")
        for name in ("label", "action"):
            value = getattr(option, name)
            if not isinstance(value, str) or not value.strip():
                raise ValueError(f"{name} of {option!r} must be a text that says something")
    actions = [one.action for one in options]
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
