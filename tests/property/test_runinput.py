"""Requests against the protocol's own models: what they take we take, and the other way round."""

from typing import Any

import orjson
from hypothesis import given, settings
from hypothesis import strategies as st

from sayso.base.codes import Code
from sayso.base.errors import Problem
from sayso.base.limits import Limits
from sayso.protocol.runinput import RunInput, decode_run_input
from tests.contract.requirements import requirement
from tests.judge import input_of
from tests.share import share

LIMITS = Limits()

JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-9, 9), st.text("ab", max_size=2)),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text("ab"), inner, max_size=2),
    max_leaves=4,
)
TEXT = st.text("xyz \n\u00e9", max_size=4)
IDS = st.text("ijk", min_size=1, max_size=3)
METADATA = st.dictionaries(st.text("ab"), JSON, max_size=2)


def shaped(
    required: dict[str, st.SearchStrategy[Any]], optional: dict[str, st.SearchStrategy[Any]]
) -> st.SearchStrategy[dict[str, Any]]:
    """An object whose optional members are missing, null or there."""
    return st.fixed_dictionaries(
        required, optional={name: st.none() | one for name, one in optional.items()}
    )


SOURCES = st.one_of(
    shaped({"type": st.just("data"), "value": TEXT, "mimeType": TEXT}, {}),
    shaped({"type": st.just("url"), "value": TEXT}, {"mimeType": TEXT}),
    shaped({"type": st.just("file"), "value": TEXT}, {"mimeType": TEXT, "provider": TEXT}),
)
PARTS = st.one_of(
    shaped({"type": st.just("text"), "text": TEXT}, {"id": TEXT, "metadata": JSON}),
    shaped(
        {"type": st.sampled_from(["image", "audio", "video", "document"]), "source": SOURCES},
        {"id": TEXT, "metadata": JSON},
    ),
)
CONTENT = TEXT | st.lists(PARTS, max_size=2)
OWN = {"metadata": METADATA, "encryptedValue": TEXT, "subagentRunId": TEXT}
CALLS = shaped(
    {"id": TEXT, "function": shaped({"name": TEXT, "arguments": TEXT}, {})},
    {"metadata": METADATA, "encryptedValue": TEXT},
).flatmap(lambda call: st.sampled_from([call, {**call, "type": "function"}]))
MESSAGES = st.one_of(
    shaped({"id": IDS, "role": st.just("user"), "content": CONTENT}, {**OWN, "name": TEXT}),
    shaped(
        {"id": IDS, "role": st.sampled_from(["system", "developer"]), "content": TEXT},
        {**OWN, "name": TEXT},
    ),
    shaped(
        {"id": IDS, "role": st.just("assistant")},
        {**OWN, "name": TEXT, "content": TEXT, "toolCalls": st.lists(CALLS, max_size=2)},
    ),
    shaped(
        {"id": IDS, "role": st.just("tool"), "content": CONTENT, "toolCallId": TEXT},
        {**OWN, "error": TEXT},
    ),
    shaped({"id": IDS, "role": st.just("reasoning"), "content": TEXT}, OWN),
    shaped(
        {"id": IDS, "role": st.just("activity"), "activityType": TEXT, "content": METADATA},
        {"metadata": METADATA, "subagentRunId": TEXT},
    ),
)
INPUTS = shaped(
    {
        "threadId": IDS,
        "runId": IDS,
        "messages": st.lists(MESSAGES, max_size=3, unique_by=lambda one: one["id"]),
    },
    {
        "protocolVersion": st.sampled_from(["1.0", "0.9"]),
        "parentRunId": IDS,
        "state": JSON,
        "forwardedProps": JSON,
        "tools": st.lists(
            shaped({"name": TEXT, "description": TEXT}, {"parameters": JSON, "metadata": METADATA}),
            max_size=2,
        ),
        "context": st.lists(shaped({"description": TEXT, "value": TEXT}, {}), max_size=2),
        "resume": st.lists(
            shaped(
                {"interruptId": IDS, "status": st.just("resolved")},
                {"payload": JSON, "metadata": METADATA},
            ),
            max_size=2,
        ),
    },
)


@st.composite
def damaged(draw: st.DrawFn) -> Any:
    """A good request with one value replaced, one member added or one taken away."""
    whole = draw(INPUTS)
    holder: Any = whole
    while True:
        keys = sorted(holder) if isinstance(holder, dict) else list(range(len(holder)))
        if not keys:
            return whole
        key = draw(st.sampled_from(keys))
        if isinstance(holder[key], dict | list) and holder[key] and draw(st.booleans()):
            holder = holder[key]
            continue
        change = draw(st.sampled_from(["replace", "remove", "add"]))
        if change == "replace":
            holder[key] = draw(JSON)
        elif change == "remove":
            del holder[key]
        elif isinstance(holder, dict):
            holder["unheardOf"] = draw(JSON)
        return whole


def read(body: bytes) -> RunInput | Problem:
    try:
        return decode_run_input(body, LIMITS)
    except Problem as problem:
        return problem


def without_nulls(value: Any) -> Any:
    """A message as the wire has it: optional members that are null are absent (MS-04)."""
    if isinstance(value, list):
        return [without_nulls(one) for one in value]
    if not isinstance(value, dict):
        return value
    return {
        key: one if key in ("metadata",) or value.get("role") == "activity" else without_nulls(one)
        for key, one in value.items()
        if one is not None
    }


@requirement("FC-04", "MS-04")
@given(INPUTS)
@settings(max_examples=share(300, of=3), deadline=None)
def test_what_the_models_take_is_taken_and_kept_as_it_was_sent(sent: Any) -> None:
    """Messages member by member, nulls aside; nothing is lost without a warning."""
    body = orjson.dumps(sent)
    judged = input_of(body)
    assert judged is not None
    result = read(body)
    assert isinstance(result, RunInput), result.errors
    assert result.warnings == ()
    kept = [one for one in judged["messages"] if one["role"] != "activity"]
    assert [orjson.loads(one.body) for one in result.messages] == without_nulls(kept)
    assert (result.thread_id, result.run_id) == (judged["threadId"], judged["runId"])
    assert result.state == judged.get("state")
    assert result.forwarded_props == judged.get("forwardedProps")
    entries = judged.get("resume") or []
    assert [one.payload for one in result.resume] == [one.get("payload") for one in entries]


@requirement("FC-03")
@given(damaged())
@settings(max_examples=share(500, of=3), deadline=None)
def test_where_one_side_refuses_the_other_does_or_something_was_left_out(sent: Any) -> None:
    """The models refuse unknown roles, parts and sources; we drop those and say so (TR-21)."""
    body = orjson.dumps(sent)
    judged, result = input_of(body), read(body)
    if judged is None:
        assert isinstance(result, Problem) or result.warnings
    elif isinstance(result, Problem):
        # Stricter in ids alone: they are keys, so none is empty, and none names two messages.
        assert result.code is Code.INVALID_INPUT
        assert {error["pointer"].rpartition("/")[2] for error in result.errors} <= {
            "id",
            "threadId",
            "runId",
            "parentRunId",
            "interruptId",
        }


@requirement("ER-01")
@given(st.binary(max_size=40) | st.text(max_size=40).map(lambda text: text.encode()))
@settings(max_examples=share(200, of=3), deadline=None)
def test_any_bytes_are_a_request_or_a_problem(body: bytes) -> None:
    """Nothing else ever comes out of reading them."""
    result = read(body)
    assert isinstance(result, RunInput) or result.status in (400, 413, 422)


@given(JSON)
@settings(max_examples=share(200, of=3), deadline=None)
def test_any_json_is_a_request_or_a_problem(value: Any) -> None:
    """Also as any member of a request."""
    for body in (value, *({name: value} for name in ("threadId", "messages", "resume", "tools"))):
        assert isinstance(read(orjson.dumps(body)), Problem)
