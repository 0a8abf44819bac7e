"""Interrupts of a graph as questions to people, and their answers as values to resume it with.

Pure: what LangGraph has asked is an event of the log, and what comes out is a list of questions.
"""

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias

import orjson

from sayso import Answer, AskFirst, Question
from sayso.frameworks.langgraph.digits import with_digits

Event: TypeAlias = Mapping[str, Any]
OnCancel: TypeAlias = Any
"""`"raise"`, or the value that an interrupt returns where nobody has answered it."""

INTERRUPT: Final = "langgraph:interrupt"
BREAKPOINT: Final = "langgraph:breakpoint"
REVIEW: Final = "langgraph:tool_review"
_TEXTS = ("message", "question", "description")
_Decision = Literal["approve", "edit", "reject", "respond"]


class NotAnswered(RuntimeError):
    """A question of a graph was cancelled, or nobody answered it in time."""


def event_of(
    raised: Sequence[Any], upcoming: Sequence[str], about: Callable[[Any], dict[str, Any]]
) -> dict[str, Any] | None:
    """The questions of a graph that stopped, as an event; None for one that is over.

    `about` finds the calls that an interrupt is about: the members `within` and `calls`.
    """
    if raised:
        return {"k": "asked", "raised": [{**_raised(each), **about(each)} for each in raised]}
    return {"k": "asked", "before": list(upcoming)} if upcoming else None


def _raised(interrupt: Any) -> dict[str, Any]:
    """An interrupt as a member of an event; what has no JSON form is told by its text."""
    schema = getattr(interrupt, "response_schema", None)
    try:
        value = as_json(interrupt.value)
    except TypeError:  # an integer that JSON has no exact form of
        value = as_json(with_digits(interrupt.value))
    return {
        "id": interrupt.id,
        "value": value,
        "schema": schema if isinstance(schema, dict) else None,
    }


def as_json(value: Any) -> Any:
    """A value as JSON, for people to read."""
    return orjson.loads(orjson.dumps(value, default=_told, option=orjson.OPT_NON_STR_KEYS))


def _told(value: Any) -> Any:
    dump = getattr(value, "model_dump", None)
    return dump(mode="json") if callable(dump) else str(value)


def questions_of(event: Event) -> list[Question]:
    """The questions that an event puts, in order."""
    if "before" in event:
        where = ", ".join(event["before"])
        return [Question(reason=BREAKPOINT, message=f"Go on with {where}?", schema=bool)]
    return [question for raised in event["raised"] for question in _questions(raised)]


def _questions(raised: Event) -> Iterator[Question]:
    value = raised["value"]
    reviews = _reviews(raised)
    if reviews is None:
        yield Question(
            reason=INTERRUPT,
            message=_message(value),
            schema=_schema(raised),
            metadata={"langgraph": {"value": value}},
        )
        return
    for (action, allowed), call in zip(reviews, _calls(raised, len(reviews)), strict=True):
        if call is not None:
            continue  # it asks itself, when the graph makes it
        yield Question(
            reason=REVIEW,
            message=action.get("description") or f"Run {action['name']}?",
            schema=_decisions_schema(action, allowed),
            metadata={"langgraph": {"tool": action["name"], "arguments": action["args"]}},
        )


def _message(value: Any) -> str:
    """The text of an interrupt's value, for a person."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        for name in _TEXTS:
            if isinstance(value.get(name), str) and value[name]:
                return str(value[name])
    return orjson.dumps(value).decode()


def _schema(raised: Event) -> Any:
    """The schema of an answer: of the interrupt itself, or beside its message."""
    value = raised["value"]
    if raised["schema"] is not None:
        return raised["schema"]
    beside = value.get("responseSchema") if isinstance(value, dict) else None
    return beside if isinstance(beside, dict) else None


def _reviews(raised: Event) -> list[tuple[Event, list[str]]] | None:
    """The calls that LangChain's middleware wants to be reviewed, with what may be decided."""
    value = raised["value"]
    if not isinstance(value, dict):
        return None
    if "action_requests" in value and "review_configs" in value:
        configs = value["review_configs"]
        return [
            (action, list(review["allowed_decisions"]))
            for action, review in zip(value["action_requests"], configs, strict=True)
        ]
    return None


def calls_of(
    value: Any, calls: Sequence[Mapping[str, Any]], tools: Container[str]
) -> list[str | None]:
    """The ids of the calls that a review is about, by position, as the model gave them.

    None for what is no call of the model's newest message, and for what nobody may approve.
    """
    left, ids = iter(calls), list[str | None]()
    for action, allowed in _reviews({"value": value}) or ():
        call = next((call for call in left if _wants(call, action)), None)
        is_known = call is not None and call["name"] in tools and "approve" in allowed
        ids.append((call["id"] or None) if call is not None and is_known else None)
    return ids


def _wants(call: Mapping[str, Any], action: Event) -> bool:
    return bool(call["name"] == action["name"] and call["args"] == action["args"])


def _calls(raised: Event, number: int) -> Sequence[str | None]:
    calls: Sequence[str | None] = raised.get("calls") or [None] * number
    return calls


def reviews_of(event: Event) -> Iterator[dict[str, Any]]:
    """The reviews in an event that are left to the calls themselves."""
    for raised in event.get("raised", ()):
        reviews = _reviews(raised) or []
        for (action, allowed), call in zip(reviews, _calls(raised, len(reviews)), strict=True):
            if call is not None:
                yield {
                    "within": raised["within"],
                    "told": call,
                    "name": action["name"],
                    "allowed": allowed,
                    "why": _own_words(action),
                }


def _own_words(action: Event) -> str | None:
    """The words of the middleware's author about a call; None where it only lists arguments."""
    text = action.get("description") or ""
    return None if not text or text.endswith(f"Args: {action['args']}") else text


def _decisions_schema(action: Event, allowed: Sequence[str]) -> dict[str, Any]:
    """One shape for each decision, told apart by its type."""
    text = {"type": "string"}
    members: dict[str, tuple[dict[str, Any], list[str]]] = {
        "approve": ({}, []),
        "reject": ({"message": text}, []),
        "respond": ({"message": text}, ["message"]),
        "edit": ({"args": {"type": "object", "default": action["args"]}}, ["args"]),
    }
    titles = {"approve": "Approve", "reject": "Reject", "respond": "Answer", "edit": "Edit"}
    shapes = [
        {
            "type": "object",
            "title": titles[kind],
            "properties": {"type": {"const": kind}, **members[kind][0]},
            "required": ["type", *members[kind][1]],
            "additionalProperties": False,
        }
        for kind in allowed
        if kind in members
    ]
    return shapes[0] if len(shapes) == 1 else {"oneOf": shapes}


def resumed(
    event: Event, answers: Sequence[Answer[Any]], on_cancel: OnCancel
) -> dict[str, Any] | None:
    """The value for each interrupt by its id; None for breakpoints.

    Raises:
        NotAnswered: one was cancelled or has expired, and that is no answer.
    """
    if "before" in event:
        if not (answers[0].resolved and answers[0].value):
            raise NotAnswered(f"stopped before {', '.join(event['before'])}")
        return None
    left, values = iter(answers), {}
    for raised in event["raised"]:
        reviews = _reviews(raised)
        if reviews is None:
            values[raised["id"]] = value_of(next(left), on_cancel)
        else:
            decisions = [
                {"type": "approve"} if call is not None else _decision(next(left), action)
                for (action, _), call in zip(reviews, _calls(raised, len(reviews)), strict=True)
            ]
            values[raised["id"]] = {"decisions": decisions}
    return values


def first_of(raised: Sequence[Any]) -> AskFirst:
    """The question that a tool asks by `interrupt()`, before it goes on."""
    event = _raised(raised[0])
    value = event["value"]
    metadata = {"langgraph": {"value": value}}
    return AskFirst(_message(value), metadata=metadata, schema=_schema(event) or {})


def value_of(answer: Answer[Any], on_cancel: OnCancel) -> Any:
    """The value that `interrupt()` returns.

    Raises:
        NotAnswered: it was cancelled or has expired, and that is no answer.
    """
    if answer.resolved:
        return answer.value
    if isinstance(on_cancel, str) and on_cancel == "raise":
        raise NotAnswered(f"the question {answer.question!r} was {answer.status}")
    return on_cancel


def _decision(answer: Answer[Any], action: Event) -> dict[str, Any]:
    """A decision as LangChain's middleware takes it; no answer is a no."""
    if not answer.resolved:
        return {"type": "reject", "message": f"The review was {answer.status}."}
    decision: Any = answer.value
    if decision["type"] != "edit":
        return dict(decision)
    return {"type": "edit", "edited_action": {"name": action["name"], "args": decision["args"]}}
