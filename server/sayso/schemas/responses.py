"""The response schema of each kind of question, and how its payload is read. Pure.

One source makes the `responseSchema` that goes out and decodes what comes back, so that the two
cannot drift apart.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from sayso.base.clock import MAX_WAIT_S
from sayso.schemas.errors import SchemaViolation
from sayso.schemas.remember import Remember
from sayso.schemas.schema import compile_schema
from sayso.schemas.typed import hoist_definitions, schema_of

_LIKE = (
    "Each named argument is this value, or a text that fits this one with * in it; * stays within "
    'one part of a URL or path, and "*" alone is any value. All others are as in this call.'
)
_ACTIONS = (
    ("run_again", "Run it again", "It did not happen, or happening twice does no harm."),
    ("skip", "It happened", "Continue with the result given here."),
    ("stop", "Stop", "End the turn here; nothing more is done."),
)

_AFTER_FAILURE = (
    ("retry", "Try again", "Call the tool once more with the same arguments."),
    ("skip", "Continue without it", "The agent is told that it failed."),
    ("stop", "Stop", "End the turn here; nothing more is done."),
)


@dataclass(frozen=True, slots=True)
class ResponseType:
    """A `responseSchema`, and the reader of a payload that fits it.

    `decode` raises ValueError for a payload that the type refuses. `problems` lists what the type
    refuses in a payload that fits the schema; it is empty unless the type is `stricter`.
    `keeps_secrets`: a part of it is a `Secret`, which takes a store with a codec.
    """

    schema: dict[str, Any] | None
    decode: Callable[[Any], Any]
    problems: Callable[[Any], tuple[SchemaViolation, ...]] = lambda payload: ()
    stricter: bool = False
    keeps_secrets: bool = False


@dataclass(frozen=True, slots=True)
class Choice:
    """One action of a `choice_schema`; `params` is the schema of what it takes, if anything."""

    action: str
    title: str
    description: str = ""
    params: dict[str, Any] | None = None
    needs_params: bool = False


def response_type(response: Any) -> ResponseType:
    """Read `schema=`: a pydantic model, a Python type, a JSON Schema object, or None.

    Raises:
        DeclarationError: a type without a JSON Schema, or a schema that cannot be used.
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
    stricter = response not in (bool, str)
    return ResponseType(
        schema, conversion.decode, conversion.errors, stricter, conversion.keeps_secrets
    )


def confirmation() -> ResponseType:
    """A yes or no for `confirmation` questions that name no type of their own (TR-25)."""
    schema = _object({"approved": {"type": "boolean", "title": "Approve"}}, "approved")
    return ResponseType(schema, lambda payload: payload["approved"])


def done_elsewhere() -> ResponseType:
    """The word that something was done at another place, or not: no member of it takes a text."""
    ways = (
        ("done", "Done", "You have done it there. The agent goes on."),
        ("deny", "Deny", "You will not do it. The agent is told so."),
    )
    action = {
        "title": "Is it done?",
        "oneOf": [
            {"const": action, "title": title, "description": description}
            for action, title, description in ways
        ],
    }
    schema = _object({"action": action}, "action")
    return ResponseType(schema, lambda payload: payload["action"] == "done")


def approval_schema(
    editable: dict[str, Any] | None,
    remember: Remember | None = None,
    arguments: Iterable[str] = (),
) -> dict[str, Any]:
    """Make the schema that answers a gated call.

    `editable` is the tool's parameter schema, if edits are offered.
    Only boolean true executes (TB-08); `editedArgs` replaces all arguments (TB-05, TB-06). Answers
    are held against a stricter schema (`compile_approval`): no other members, a short reason.
    `remember` is what may be remembered of calls with these `arguments`, if anything.
    """
    properties: dict[str, Any] = {
        "approved": {"type": "boolean", "title": "Approve"},
        "reason": {"type": "string", "title": "Reason"},
    }
    if remember is not None:
        properties["remember"] = _remember_schema(remember, arguments)
    definitions: dict[str, Any] = {}
    if editable is not None:
        described, definitions = hoist_definitions(editable, "editedArgs")
        properties["editedArgs"] = {**described, "title": "Arguments"}
    schema = _object(properties, "approved", definitions=definitions)
    del schema["additionalProperties"]
    return schema


def choice_schema(title: str, choices: Sequence[Choice]) -> dict[str, Any]:
    """Make the schema that answers a decision: `action`, its `params`, and perhaps a `note`.

    `params` is refused where the chosen action takes none.
    """
    properties: dict[str, Any] = {
        "action": {
            "title": title,
            "oneOf": [
                {"const": choice.action, "title": choice.title}
                | ({"description": choice.description} if choice.description else {})
                for choice in choices
            ],
        },
        "note": {"type": "string", "title": "Note", "maxLength": 2000},
    }
    definitions: dict[str, Any] = {}
    rules: list[dict[str, Any]] = []
    if any(choice.params is not None for choice in choices):
        properties["params"] = {"title": "Details"}
        for number, choice in enumerate(choices):
            when = {"properties": {"action": {"const": choice.action}}, "required": ["action"]}
            if choice.params is None:
                rules.append({"if": when, "then": {"properties": {"params": False}}})
                continue
            described, more = hoist_definitions(choice.params, f"params{number}")
            definitions |= more
            then: dict[str, Any] = {"properties": {"params": described}}
            if choice.needs_params:
                then["required"] = ["params"]
            rules.append({"if": when, "then": then})
    schema = _object(properties, "action", definitions=definitions)
    return {**schema, "allOf": rules} if rules else schema


def with_arguments(schema: dict[str, Any], parameters: dict[str, Any]) -> dict[str, Any]:
    """The schema of a choice at a breakpoint that may bring other arguments to continue with."""
    return _continuing_with(schema, "editedArgs", parameters, "Arguments to continue with")


def with_result(schema: dict[str, Any], result: dict[str, Any] | None) -> dict[str, Any]:
    """The schema of a choice at a breakpoint that may bring another result to continue with."""
    return _continuing_with(schema, "result", result or {}, "Result to continue with")


def _continuing_with(
    schema: dict[str, Any], name: str, of: dict[str, Any], title: str
) -> dict[str, Any]:
    described, definitions = hoist_definitions(of, name)
    stops = {"properties": {"action": {"const": "stop"}}, "required": ["action"]}
    members = {
        **schema,
        "properties": {**schema["properties"], name: {**described, "title": title}},
        "if": stops,
        "then": {"properties": {name: False}},
    }
    return {**members, "$defs": definitions} if definitions else members


def _remember_schema(remember: Remember, arguments: Iterable[str]) -> dict[str, Any]:
    """The schema of `remember`: true, or an object with arguments, scope and seconds."""
    fixed: dict[str, Any] = {"enum": [kind for kind in remember.arguments if kind != "like"]}
    names: dict[str, Any] = {name: {} for name in arguments}
    if "like" in remember.arguments and names:
        like = {**_object(names), "minProperties": 1, "description": _LIKE}
        del like["required"]
        fixed = {"anyOf": [fixed, like]}
    longest = MAX_WAIT_S if remember.expires_in is None else min(remember.expires_in, MAX_WAIT_S)
    seconds: dict[str, Any] = {"type": "number", "exclusiveMinimum": 0, "maximum": longest}
    members = {"arguments": fixed, "scope": {"enum": list(remember.scopes)}, "seconds": seconds}
    chosen = _object(members)
    del chosen["required"]
    where = (
        "in this conversation" if remember.scopes[0] == "thread" else "in any of my conversations"
    )
    which = "any" if remember.arguments[0] == "any" else "exactly these"
    return {
        "title": "Do not ask again",
        "description": f"Calls with {which} arguments run without asking, {where}.",
        "anyOf": [{"type": "boolean"}, chosen],
    }


def indeterminate_schema(result: dict[str, Any] | None, *, optional: bool) -> dict[str, Any]:
    """Make the schema that answers a question about an effect that may have happened.

    `result` is the schema of what the effect returns; unless `optional`, `skip` must bring one.
    """
    described, definitions = hoist_definitions(result or {}, "result")
    none = ", null for no result" if compile_schema(result or {}).is_valid(None) else ""
    schema = _object(
        {
            "action": _choice(_ACTIONS),
            "result": {
                **described,
                "title": "Result to continue with",
                "description": f"The result, if it happened{none}. Otherwise leave this out.",
            },
        },
        "action",
        definitions=definitions,
    )
    if not optional:
        schema["if"] = {"properties": {"action": {"const": "skip"}}}
        schema["then"] = {"required": ["result"]}
    return schema


def tool_error_schema() -> dict[str, Any]:
    """Make the schema that answers a question about a tool that raised."""
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
