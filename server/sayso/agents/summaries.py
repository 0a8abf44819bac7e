"""A settled question in words: for the history, for a model, for whoever looks later. Pure.

The values of an answer are named by the titles of the schema that asked for them. Members that the
schema marks as secret (`writeOnly`, or the format `password`) are never shown.
"""

from collections.abc import Mapping
from typing import Any

from sayso.base import jsonvalue
from sayso.base.redaction import redacted

Json = Mapping[str, Any]


def summarize(
    question: str,
    status: str,
    answer: str = "",
    *,
    by: str | None = None,
    lapsed: bool = False,
    meaning: str = "",
) -> str:
    """Say in one sentence how a question ended.

    `lapsed`: nobody answered, and a rule decided. `meaning`: the consequence of the answer.
    """
    opening = f'Asked "{question}"' if question else "Asked"
    if status == "expired":
        return f"{opening}, nobody answered in time. Nothing was decided."
    if status == "cancelled":
        how = "nobody answered in time, and it was withdrawn" if lapsed else _withdrawn(by)
        return f"{opening}, {how}. Nothing was decided."
    who = "nobody answered in time; what was agreed for that" if lapsed else by or "a person"
    sentence = f"{opening}, {who} {'was' if lapsed else 'answered'}: {answer}{_stop(answer)}"
    return f"{sentence} That means: {meaning}" if meaning else sentence


def _withdrawn(by: str | None) -> str:
    return f"{by} withdrew the question without an answer" if by else "the question was withdrawn"


def _stop(text: str) -> str:
    return "" if text.endswith((".", "!", "?", "…")) else "."


def answer_text(payload: Any, schema: Json | None) -> str:
    """A payload in a few words: `yes`, `Delete the temporary ones`, `Quarter: Q3; Year: 2026`."""
    shown = redacted(payload, schema)
    if not isinstance(shown, dict):
        return _value(shown)
    properties = (schema or {}).get("properties")
    declared: Json = properties if isinstance(properties, dict) else {}
    parts = []
    for name, value in shown.items():
        part = declared.get(name)
        described: Json = part if isinstance(part, dict) else {}
        if name == "approved" and isinstance(value, bool):
            parts.append(_value(value))
        elif name == "action" and (title := _title_of(value, described)) is not None:
            parts.append(title)
        else:
            parts.append(f"{described.get('title') or name}: {_value(value)}")
    return "; ".join(parts) or "nothing"


def figures_text(figures: Json) -> str:
    """Values by name: `files: 847; approved: yes`. No name means more than another."""
    return "; ".join(f"{name}: {_value(value)}" for name, value in figures.items()) or "nothing"


def consequence(payload: Any, schema: Json | None) -> str:
    """The schema's description of the `action` that a payload chose; often empty."""
    properties = (schema or {}).get("properties")
    choices = properties.get("action") if isinstance(properties, dict) else None
    if not isinstance(payload, dict) or not isinstance(choices, dict):
        return ""
    chosen = _choice(payload.get("action"), choices)
    return str(chosen.get("description") or "") if chosen else ""


def _choice(value: Any, schema: Json) -> Json | None:
    for choice in schema.get("oneOf") or ():
        if isinstance(choice, dict) and choice.get("const") == value:
            return choice
    return None


def _title_of(value: Any, schema: Json) -> str | None:
    """The title that a schema gives to one of the values that it lists."""
    choice = _choice(value, schema)
    if choice is None:
        return None
    title = choice.get("title")
    return f"{title} ({value})" if title and title != value else str(value)


def _value(value: Any) -> str:
    if value is None or value == "":
        return "nothing"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value if isinstance(value, str) else jsonvalue.encode(value).decode()
