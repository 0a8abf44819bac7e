"""What is published with each kind of question, and how its payload is read. Pure.

One source makes the `responseSchema` that goes out and decodes what comes back, so that the two
cannot drift apart.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from sayso.agents.asking import Remember
from sayso.clock import LONGEST
from sayso.schemas.typed import hoist, schema_of

__all__ = [
    "Choice",
    "ResponseType",
    "approval_schema",
    "choice_schema",
    "confirmation",
    "response_type",
    "unsure_schema",
]

_LIKE = (
    "Each named argument is this value, or a text that fits this one with * in it; * stays within "
    'one part of a URL or path, and "*" alone is any value. All others are as in this call.'
)
_ACTIONS = (
    ("run_again", "Run it again", "It did not happen, or happening twice does no harm."),
    ("skip", "Skip it", "It did happen. Go on with the result given here."),
    ("stop", "Stop", "End the turn here; nothing more is done."),
)

_AFTER_FAILURE = (
    ("retry", "Try again", "Call the tool once more with the same arguments."),
    ("skip", "Skip it", "Go on without it; the agent is told that it failed."),
    ("stop", "Stop", "End the turn here; nothing more is done."),
)


@dataclass(frozen=True, slots=True)
class ResponseType:
    """A `responseSchema` and how to read a payload that fits it; ValueError if it will not."""

    schema: dict[str, Any] | None
    decode: Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class Choice:
    """One action of a `choice_schema`; `params` is the schema of what it takes, if anything."""

    action: str
    title: str
    description: str = ""
    params: dict[str, Any] | None = None
    needs_params: bool = False


def response_type(response: Any) -> ResponseType:
    """What `response=` means: a pydantic model, a Python type, a JSON Schema object, or None.

    Raises `DeclarationError` for a type without a JSON Schema, or a schema that cannot be used.
    """
    if isinstance(response, ResponseType):
        return response
    if response is None:
        return ResponseType(None, lambda payload: payload)
    if isinstance(response, dict):
        return ResponseType(schema_of(response)[0], lambda payload: payload)
    return _of_type(response)


@lru_cache(maxsize=256)
def _of_type(response: Any) -> ResponseType:
    schema, conversion = schema_of(response)
    return ResponseType(schema, conversion.decode)


def confirmation() -> ResponseType:
    """A yes or no for `confirmation` questions that name no type of their own (TR-25)."""
    schema = _object({"approved": {"type": "boolean", "title": "Approve"}}, "approved")
    return ResponseType(schema, lambda payload: payload["approved"])


def approval_schema(
    editable: dict[str, Any] | None,
    remember: Remember | None = None,
    arguments: Iterable[str] = (),
) -> dict[str, Any]:
    """What answers a gated call; `editable` is the tool's parameter schema if edits are offered.

    Only boolean true executes (TB-08); `editedArgs` replaces all arguments (TB-05, TB-06).
    `remember` is what may be remembered of calls with these `arguments`, if anything.
    """
    properties: dict[str, Any] = {
        "approved": {"type": "boolean", "title": "Approve"},
        "reason": {"type": "string", "title": "Reason", "maxLength": 2000},
    }
    if remember is not None:
        properties["remember"] = _remember_schema(remember, arguments)
    if editable is None:
        return _object(properties, "approved")
    arguments, definitions = hoist(editable, "editedArgs")
    properties["editedArgs"] = {**arguments, "title": "Arguments"}
    return _object(properties, "approved", definitions=definitions)


def choice_schema(title: str, choices: Sequence[Choice]) -> dict[str, Any]:
    """What answers a decision: `action`, with the `params` of that action, and perhaps a `note`.

    `params` is refused where the chosen action takes none.
    """
    properties: dict[str, Any] = {
        "action": {
            "title": title,
            "oneOf": [
                {"const": one.action, "title": one.title}
                | ({"description": one.description} if one.description else {})
                for one in choices
            ],
        },
        "note": {"type": "string", "title": "Note", "maxLength": 2000},
    }
    definitions: dict[str, Any] = {}
    rules: list[dict[str, Any]] = []
    if any(one.params is not None for one in choices):
        properties["params"] = {"title": "Details"}
        for number, one in enumerate(choices):
            when = {"properties": {"action": {"const": one.action}}, "required": ["action"]}
            if one.params is None:
                rules.append({"if": when, "then": {"properties": {"params": False}}})
                continue
            described, more = hoist(one.params, f"params{number}")
            definitions |= more
            then: dict[str, Any] = {"properties": {"params": described}}
            if one.needs_params:
                then["required"] = ["params"]
            rules.append({"if": when, "then": then})
    schema = _object(properties, "action", definitions=definitions)
    return {**schema, "allOf": rules} if rules else schema


def _remember_schema(remember: Remember, arguments: Iterable[str]) -> dict[str, Any]:
    """True, or an object that says for which arguments, where, and for how many seconds."""
    fixed: dict[str, Any] = {"enum": [kind for kind in remember.arguments if kind != "like"]}
    names: dict[str, Any] = {name: {} for name in arguments}
    if "like" in remember.arguments and names:
        like = {**_object(names), "minProperties": 1, "description": _LIKE}
        del like["required"]
        fixed = {"anyOf": [fixed, like]}
    longest = LONGEST if remember.expires_in is None else min(remember.expires_in, LONGEST)
    seconds: dict[str, Any] = {"type": "number", "exclusiveMinimum": 0, "maximum": longest}
    told = {"arguments": fixed, "scope": {"enum": list(remember.scopes)}, "seconds": seconds}
    chosen = _object(told)
    del chosen["required"]
    whose = "this conversation" if remember.scopes[0] == "thread" else "all my conversations"
    which = "any" if remember.arguments[0] == "any" else "exactly these"
    return {
        "title": "Do not ask again",
        "description": f"Such a call with {which} arguments, in {whose}, runs without asking.",
        "anyOf": [{"type": "boolean"}, chosen],
    }


def unsure_schema(result: dict[str, Any] | None, *, optional: bool) -> dict[str, Any]:
    """What answers a question about an effect that may have happened.

    `result` is the schema of what the effect returns; unless `optional`, `skip` must bring one.
    """
    described, definitions = hoist(result or {}, "result")
    schema = _object(
        {
            "action": _choice(_ACTIONS),
            "result": {
                **described,
                "title": "Result to go on with",
                "description": "What it came to, where you skip it; otherwise leave this out.",
            },
        },
        "action",
        definitions=definitions,
    )
    if not optional:
        schema["if"] = {"properties": {"action": {"const": "skip"}}}
        schema["then"] = {"required": ["result"]}
    return schema


def failed_schema() -> dict[str, Any]:
    """What answers a question about a tool that raised."""
    return _object({"action": _choice(_AFTER_FAILURE)}, "action")


def _choice(actions: Iterable[tuple[str, str, str]]) -> dict[str, Any]:
    return {
        "title": "What now?",
        "oneOf": [
            {"const": const, "title": title, "description": text} for const, title, text in actions
        ],
    }


def _object(
    properties: dict[str, Any], *required: str, definitions: dict[str, Any] | None = None
) -> dict[str, Any]:
    schema: dict[str, Any] = {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }
    return {**schema, "$defs": definitions} if definitions else schema
