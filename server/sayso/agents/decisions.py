"""Decisions that inform: what is planned, why, what it does, and which ways there are to go. Pure.

`Option` is what an author offers, `Decision` what a person made of it, `describe` the sentence
that a model gets about either kind of answer.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sayso.agents.outcomes import Answer, AnswerStatus, Terms
from sayso.agents.wording import said, sentence
from sayso.schemas.forms import Choice, ResponseType, choice_schema
from sayso.schemas.schema import compile_schema
from sayso.schemas.typed import Conversion, schema_of

__all__ = [
    "Chosen",
    "Clarifying",
    "Decision",
    "Described",
    "Option",
    "decision_type",
    "describe",
    "in_words",
]

Described = str | Mapping[str, Any]
"""A text, or figures by name: `{"files": 847, "size": "2.1 GB"}`."""


class Clarifying(Terms, total=False):
    """What a clarification says beside its question, by name."""

    scope: Described | None
    blast_radius: Described | None


@dataclass(frozen=True, slots=True)
class Option:
    """One way to go: its name on the screen, the `action` that code sees, what follows from it.

    `params` is what a person may set about it: a pydantic model, a Python type or a JSON Schema
    object.
    """

    label: str
    action: str
    consequence: str = ""
    params: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What a person chose; `option` is None unless `resolved`.

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
    said: str = ""

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
    option = answer.option if isinstance(answer, Decision) else None
    return sentence(
        answer.question,
        answer.status,
        answer.said,
        by=answer.by,
        meaning=option.consequence if option else "",
    )


def in_words(value: Described) -> str:
    """A text as it is, figures as `files: 847; size: 2.1 GB`."""
    return value if isinstance(value, str) else said(dict(value), None)


@dataclass(frozen=True, slots=True)
class Chosen:
    """What a payload says, before it is known who said it."""

    option: Option
    params: Any
    note: str | None


def decision_type(title: str, options: Sequence[Option]) -> ResponseType:
    """The schema over some options, and how a payload that fits it is read.

    ValueError for options that cannot be offered, `DeclarationError` for a type of `params`
    without a JSON Schema.
    """
    _check(options)
    known = {one.action: (one, _params(one)) for one in options}
    choices = [
        Choice(
            action=one.action,
            title=one.label,
            description=one.consequence,
            params=params.schema if params else None,
            needs_params=params is not None and params.required,
        )
        for one, params in known.values()
    ]

    def read(payload: dict[str, Any]) -> Chosen:
        option, params = known[payload["action"]]
        given = params and params.conversion.decode(payload.get("params", params.absent))
        return Chosen(option, given, payload.get("note"))

    return ResponseType(choice_schema(title, choices), read)


def _check(options: Sequence[Option]) -> None:
    if not options:
        raise ValueError("a decision needs options: Option(label, action, consequence)")
    for one in options:
        if not isinstance(one, Option):
            raise TypeError(f"{one!r} is no Option: write Option(label, action, consequence)")
        for name in ("label", "action"):
            value = getattr(one, name)
            if not isinstance(value, str) or not value.strip():
                raise ValueError(f"{name} of {one!r} must be a text that says something")
    actions = [one.action for one in options]
    twice = sorted({action for action in actions if actions.count(action) > 1})
    if twice:
        raise ValueError(f"two options have the action {', '.join(twice)}: give each its own")


@dataclass(frozen=True, slots=True)
class _Params:
    """What an option takes; `absent` stands for params that were left out, unless required."""

    schema: dict[str, Any]
    conversion: Conversion
    required: bool
    absent: Any


def _params(option: Option) -> _Params | None:
    if option.params is None:
        return None
    schema, conversion = schema_of(option.params)
    compiled = compile_schema(schema)
    possible: tuple[Any, ...] = ({}, None)
    taken = [value for value in possible if not compiled.problems(value)]
    return _Params(schema, conversion, not taken, taken[0] if taken else None)
