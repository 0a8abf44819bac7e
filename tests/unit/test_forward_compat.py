"""Requests of older and newer peers: what is left out, translated, or refused by name."""

from dataclasses import replace
from typing import Any

import orjson
import pytest

from sayso.protocol.runinput import RunInput, decode_run_input
from tests.contract.requirements import requirement
from tests.judge import input_of
from tests.requests import LIMITS, USER, bodies, body, pointers, read


@requirement("FC-06")
def test_thread_run_and_messages_are_enough() -> None:
    """Only three members are required."""
    assert decode_run_input(b'{"threadId":"t","runId":"r","messages":[]}', LIMITS) == RunInput(
        thread_id="t", run_id="r"
    )
    assert set(pointers(b"{}")) == {"/threadId", "/runId", "/messages"}


@requirement("FC-04")
def test_nulls_of_older_clients_are_absent() -> None:
    """Whole nulls are read as absence, at every level of the protocol's own objects.

    That the state was null is remembered: its sender cannot apply a delta.
    """
    given = read(
        state=None,
        forwardedProps=None,
        context=None,
        parentRunId=None,
        protocolVersion=None,
        tools=[{"name": "f", "description": "d", "parameters": None, "metadata": None}],
        resume=[{"interruptId": "i", "status": "resolved", "payload": None, "metadata": None}],
        messages=[{**USER, "name": None, "metadata": None, "encryptedValue": None}],
    )
    absent = read(
        tools=[{"name": "f", "description": "d"}],
        resume=[{"interruptId": "i", "status": "resolved"}],
    )
    assert given == replace(absent, null_state=True)
    assert given.warnings == ()
    assert bodies(given) == [USER]


@requirement("FC-04", "FC-03")
def test_null_is_no_value_of_a_required_member() -> None:
    """Absence of a required member is an error, however it is spelt."""
    assert set(pointers(body(threadId=None, messages=None))) == {"/threadId", "/messages"}


@requirement("FC-10")
def test_forwarded_props_and_state_pass_untouched() -> None:
    """Nulls and unknown keys inside them are data."""
    props = {"a": None, "thread_id": [None, {"b": None}], "command": {"resume": False}}
    given = read(forwardedProps=props, state={"n": None})
    assert (given.forwarded_props, given.state) == (props, {"n": None})
    assert read(forwardedProps=0, state=[]).forwarded_props == 0


@requirement("FC-01")
def test_unknown_members_are_left_out_with_a_warning_at_every_level() -> None:
    """A newer client's request does not bounce."""
    new = {"foo": {"secret": 1}}
    part = {"type": "image", "source": {"type": "url", "value": "u", **new}, **new}
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}", **new}}
    given = read(
        **new,
        messages=[
            {**USER, "content": [part], **new},
            {"id": "a1", "role": "assistant", "toolCalls": [{**call, **new}]},
        ],
        tools=[{"name": "f", "description": "d", **new}],
        context=[{"description": "d", "value": "v", **new}],
        resume=[{"interruptId": "i", "status": "resolved", **new}],
    )
    assert bodies(given) == [
        {**USER, "content": [{"type": "image", "source": {"type": "url", "value": "u"}}]},
        {
            "id": "a1",
            "role": "assistant",
            "toolCalls": [
                {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
            ],
        },
    ]
    assert given.tools == ({"name": "f", "description": "d"},)
    assert given.context == ({"description": "d", "value": "v"},)
    assert len(given.warnings) == 9
    assert not any("secret" in warning for warning in given.warnings)


@requirement("FC-02", "TR-21")
def test_unknown_roles_parts_and_sources_are_left_out_where_the_models_refuse_the_request() -> None:
    """Each goes at the nearest place that can do without it."""
    members = {
        "messages": [
            {"id": "x", "role": "critic", "verdict": 3},
            {
                **USER,
                "content": [
                    {"type": "text", "text": "look"},
                    {"type": "3d", "mesh": "m"},
                    {"type": "image", "source": {"type": "zip", "value": "v"}},
                ],
            },
            {"id": "u2", "role": "user", "content": [{"type": "smell"}]},
            {
                "id": "a",
                "role": "assistant",
                "toolCalls": [
                    {"type": "mcp", "id": "c", "function": {"name": "f", "arguments": ""}}
                ],
            },
        ]
    }
    assert input_of(body(**members)) is None
    given = read(**members)
    assert bodies(given) == [
        {**USER, "content": [{"type": "text", "text": "look"}]},
        {"id": "u2", "role": "user", "content": []},
        {"id": "a", "role": "assistant", "toolCalls": []},
    ]
    assert len(given.warnings) == 5


@requirement("FC-05", "TR-21")
@pytest.mark.parametrize(
    ("part", "media"),
    [
        (
            {"mimeType": "image/png", "data": "aGk=", "url": "u", "filename": "a.png"},
            {
                "type": "image",
                "source": {"type": "data", "value": "aGk=", "mimeType": "image/png"},
                "metadata": {"filename": "a.png"},
            },
        ),
        (
            {"mimeType": "audio/ogg", "url": "u"},
            {"type": "audio", "source": {"type": "url", "value": "u", "mimeType": "audio/ogg"}},
        ),
        (
            {"mime_type": "video/mp4", "url": "u", "id": None},
            {"type": "video", "source": {"type": "url", "value": "u", "mimeType": "video/mp4"}},
        ),
        (
            {"mimeType": "application/pdf", "data": "aGk="},
            {
                "type": "document",
                "source": {"type": "data", "value": "aGk=", "mimeType": "application/pdf"},
            },
        ),
    ],
)
def test_the_retired_binary_part_becomes_a_media_part(
    part: dict[str, Any], media: dict[str, Any]
) -> None:
    """Inline bytes beat a URL; the file name is kept as metadata."""
    given = read(messages=[{**USER, "content": [{"type": "binary", **part}]}])
    assert bodies(given) == [{**USER, "content": [media]}]
    assert given.warnings == ()
    assert input_of(body(messages=bodies(given))) is not None


@requirement("FC-05")
def test_a_binary_part_with_a_bare_id_has_no_successor() -> None:
    """It names bytes that only its own application can find; without any name it is malformed."""
    given = read(messages=[{**USER, "content": [{"type": "binary", "mimeType": "x/y", "id": "7"}]}])
    assert bodies(given) == [{**USER, "content": []}]
    assert len(given.warnings) == 1
    nameless = {**USER, "content": [{"type": "binary", "mimeType": "x/y"}]}
    assert set(pointers(body(messages=[nameless]))) == {"/messages/0/content/0"}


@requirement("FC-09")
def test_snake_case_is_read_and_camel_case_wins() -> None:
    """The other spelling stays behind as an unknown member."""
    data = orjson.dumps(
        {
            "thread_id": "t",
            "threadId": "T",
            "run_id": "r",
            "messages": [{"id": "m", "role": "tool", "content": "", "tool_call_id": "c"}],
            "resume": [{"interrupt_id": "i", "status": "cancelled"}],
        }
    )
    given = decode_run_input(data, LIMITS)
    assert (given.thread_id, given.run_id, given.resume[0].interrupt_id) == ("T", "r", "i")
    assert bodies(given) == [{"id": "m", "role": "tool", "content": "", "toolCallId": "c"}]
    assert len(given.warnings) == 1


@requirement("MS-04")
def test_a_tool_call_without_a_type_is_a_function_call() -> None:
    """The models read it so, and clients want to see the type in snapshots."""
    call = {"id": "c", "function": {"name": "f", "arguments": "{}"}}
    sent = {"id": "a", "role": "assistant", "content": None, "toolCalls": [call]}
    given = read(messages=[sent])
    assert bodies(given) == [
        {"id": "a", "role": "assistant", "toolCalls": [{**call, "type": "function"}]}
    ]
    assert given.warnings == ()


@requirement("FC-03")
def test_everything_malformed_is_named_and_nothing_is_echoed() -> None:
    """One answer tells the client all that it has to correct (ER-14, TR-38)."""
    found = pointers(
        body(
            threadId=7,
            protocolVersion=1,
            tools={"name": "secret"},
            context=[{"description": "secret"}],
            resume=[{"interruptId": "i", "status": "denied"}, 3, {"status": "resolved"}],
            messages=[
                "secret",
                {"id": "u1", "role": "user"},
                {"role": 4},
                {"id": "a", "role": "assistant", "content": 5, "toolCalls": [{"id": 6}]},
                {
                    "id": "u2",
                    "role": "user",
                    "content": [
                        {"type": "image", "source": {"type": "data", "value": "secret"}},
                        {"text": "untyped"},
                        "secret",
                    ],
                },
                {"id": "s", "role": "system", "content": ["secret"]},
                {"id": "b", "role": "activity", "activityType": "x", "content": "secret"},
                {"id": "t", "role": "tool", "content": "x", "toolCallId": 1, "metadata": []},
            ],
        )
    )
    assert set(found) == {
        "/threadId",
        "/protocolVersion",
        "/tools",
        "/context/0/value",
        "/resume/0/status",
        "/resume/1",
        "/resume/2/interruptId",
        "/messages/0",
        "/messages/1/content",
        "/messages/2/role",
        "/messages/3/content",
        "/messages/3/toolCalls/0/id",
        "/messages/3/toolCalls/0/function",
        "/messages/4/content/0/source/mimeType",
        "/messages/4/content/1/type",
        "/messages/4/content/2",
        "/messages/5/content",
        "/messages/6/content",
        "/messages/7/toolCallId",
        "/messages/7/metadata",
    }
    assert not any("secret" in message or "denied" in message for message in found.values())
