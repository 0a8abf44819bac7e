"""Reading a request: what is refused, and what is kept."""

from pathlib import Path
from typing import Any

import orjson
import pytest

from sayso.base.codes import Code
from sayso.base.limits import Limits
from sayso.protocol.runinput import ResumeEntry, decode_run_input
from tests.contract.requirements import requirement
from tests.judge import input_of
from tests.requests import LIMITS, USER, bodies, body, pointers, read, refused

CAPTURED = sorted((Path(__file__).parents[1] / "captured").glob("*.json"))


@pytest.mark.parametrize("path", CAPTURED, ids=lambda path: path.stem)
def test_every_captured_request_is_read_whole_and_without_a_warning(path: Path) -> None:
    """What real clients send is what the protocol describes, nulls aside (FC-04)."""
    data = path.read_bytes()
    given, sent, judged = decode_run_input(data, LIMITS), orjson.loads(data), input_of(data)
    assert judged is not None
    assert given.warnings == ()
    assert bodies(given) == sent["messages"] == judged["messages"]
    assert given.forwarded_props == sent.get("forwardedProps")
    assert given.state == sent["state"]
    assert [entry.interrupt_id for entry in given.resume] == [
        entry["interruptId"] for entry in sent.get("resume", [])
    ]


@requirement("RE-01", "RE-02")
@pytest.mark.parametrize(
    ("resume", "pointer"),
    [
        ({"interruptId": "i", "status": "resolved"}, "/resume"),
        ("i", "/resume"),
        ([{"interruptId": "i"}], "/resume/0/status"),
        ([{"interruptId": "i", "status": "rejected"}], "/resume/0/status"),
        ([{"interruptId": "i", "status": True}], "/resume/0/status"),
        ([{"interruptId": 4, "status": "resolved"}], "/resume/0/interruptId"),
        ([{"interruptId": "", "status": "resolved"}], "/resume/0/interruptId"),
        ([{"interruptId": "i", "status": "resolved", "metadata": "m"}], "/resume/0/metadata"),
    ],
)
def test_a_malformed_resume_is_refused_before_any_run(resume: Any, pointer: str) -> None:
    """It is a known member with a wrong value."""
    assert set(pointers(body(resume=resume))) == {pointer}


@requirement("RE-05")
def test_an_absent_payload_is_null() -> None:
    """Client 1.0.0 deletes a null payload, 0.0.59 sends it."""
    absent = read(resume=[{"interruptId": "i", "status": "resolved"}])
    null = read(resume=[{"interruptId": "i", "status": "resolved", "payload": None}])
    assert absent == null
    assert absent.resume == (ResumeEntry(interrupt_id="i", status="resolved"),)


@requirement("RE-05")
@pytest.mark.parametrize("payload", [False, 0, "", {}, [], "yes", {"a": None}])
def test_a_falsy_payload_is_a_payload(payload: Any) -> None:
    """Presence decides, and its type is kept (G1, G2)."""
    given = read(resume=[{"interruptId": "i", "status": "resolved", "payload": payload}])
    assert given.resume[0].payload == payload
    assert type(given.resume[0].payload) is type(payload)


@requirement("RE-04", "RE-06")
def test_entry_metadata_is_kept_and_a_cancelled_payload_says_nothing() -> None:
    """Metadata comes on either status; the payload of a cancel is noted and no answer."""
    given = read(
        resume=[
            {"interruptId": "i", "status": "cancelled", "payload": 1, "metadata": {"k": None}},
        ]
    )
    assert given.resume[0].metadata == {"k": None}
    assert given.resume[0].payload is None
    assert len(given.warnings) == 1


@requirement("RE-07")
def test_an_empty_resume_is_no_resume() -> None:
    """It is read exactly like a missing one."""
    assert read(resume=[]) == read()


@requirement("RE-09")
def test_a_resume_may_come_with_everything_else() -> None:
    """Messages, state, tools and context of the same request are kept."""
    given = read(
        resume=[{"interruptId": "i", "status": "cancelled"}],
        state={"a": 1},
        tools=[{"name": "f", "description": "d", "parameters": {"type": "object"}}],
        context=[{"description": "d", "value": "v"}],
    )
    assert given.state == {"a": 1}
    assert given.tools[0]["parameters"] == {"type": "object"}
    assert len(given.context) == len(given.messages) == len(given.resume) == 1


@requirement("MS-08")
def test_activity_messages_are_read_and_kept_out_of_the_history() -> None:
    """A client may send back what it shows; it is nothing to go on from."""
    activity = {"id": "x", "role": "activity", "activityType": "card", "content": {"a": 1}}
    assert bodies(read(messages=[USER, activity])) == [USER]


@requirement("VN-03", "VN-04", "VN-05", "VN-06")
@pytest.mark.parametrize(
    ("version", "versioned", "warnings"),
    [
        (None, False, 0),
        ("0.9", False, 0),
        ("1.0", True, 0),
        ("01.00", True, 0),
        ("1.7", True, 1),
        ("1.10", True, 1),
        ("1", True, 1),
        ("1.0.0", True, 1),
        ("2.0.0", True, 1),
        ("latest", True, 1),
        ("\uff11.\uff10", True, 1),
        ("1.0\n", True, 1),
    ],
)
def test_line_one_and_what_cannot_be_read_is_served(
    version: str | None, versioned: bool, warnings: int
) -> None:
    """Newer minors and other grammars are served with a warning, as the current version."""
    given = read(protocolVersion=version)
    assert given.speaks_v1 is versioned
    assert len(given.warnings) == warnings


@requirement("VN-05")
@pytest.mark.parametrize("version", ["2.0", "10.1", "02.0", "9" * 5_000 + ".0"])
def test_another_major_line_is_refused_before_its_shape_is_judged(version: str) -> None:
    """Its members may mean something else."""
    assert refused(body(protocolVersion=version, messages="?")).code is Code.UNSUPPORTED_VERSION


@requirement("ER-01")
@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b'{"threadId": NaN}',
        b'{"threadId": 1e999}',
        b'{"threadId": "\xff"}',
        b'{"threadId": "\\ud800"}',
        b'\xef\xbb\xbf{"threadId": "t"}',
        b'{"threadId": "t"} {}',
        b"{'threadId': 't'}",
        '{"threadId": "t"}'.encode("utf-16"),
    ],
)
def test_what_is_no_json_is_malformed(data: bytes) -> None:
    """Strict JSON in UTF-8, nothing repaired."""
    problem = refused(data)
    assert problem.code is Code.MALFORMED_JSON
    assert problem.status == 400


@requirement("ER-01")
@pytest.mark.parametrize("data", [b"[]", b"null", b"3", b'"x"', b"true"])
def test_json_that_is_no_object_is_invalid(data: bytes) -> None:
    """The pointer of the whole request is the empty one."""
    assert pointers(data) == {"": "must be an object"}


@pytest.mark.parametrize("levels", [65, 900, 20_000])
def test_a_body_nested_too_deeply_is_refused(levels: int) -> None:
    """The depth is measured without recursion (design 4, limits)."""
    deep = b'{"threadId":"t","runId":"r","messages":[],"state":' + b"[" * levels + b"]" * levels
    assert set(pointers(deep + b"}")) == {""}


def test_the_documented_depth_is_allowed() -> None:
    """The request itself is the first level."""
    state: Any = 0
    for _ in range(LIMITS.depth - 1):
        state = [state]
    assert read(state=state).state == state
    assert set(pointers(body(state=[state]))) == {""}


def test_limits_refuse_large_bodies_and_large_payloads() -> None:
    """Each limit is a 4xx of its own place (design 4)."""
    assert refused(body(), Limits(body=20, history=5, payload=8)).code is Code.BODY_TOO_LARGE
    few = Limits(payload=8)
    entry = {"interruptId": "i", "status": "resolved"}
    fits = body(resume=[{**entry, "payload": "123456"}])
    assert decode_run_input(fits, few).resume[0].payload == "123456"
    large = body(resume=[entry, {**entry, "payload": "1234567"}])
    assert refused(large, few).errors[0]["pointer"] == "/resume/1/payload"
    broken = body(resume=[None, {**entry, "payload": "1234567"}], messages=[USER, USER, 3])
    assert [one["pointer"] for one in refused(broken, Limits(payload=8)).errors] == [
        "/resume/0",
        "/messages/2",
        "/resume/1/payload",
    ]


@pytest.mark.parametrize("identifier", ["", "x" * 513, "a\0b"])
def test_ids_that_cannot_be_kept_are_refused(identifier: str) -> None:
    """Ids are keys: 1 to 512 characters and no NUL."""
    found = pointers(
        body(threadId=identifier, runId=identifier, messages=[{**USER, "id": identifier}])
    )
    assert set(found) == {"/threadId", "/runId", "/messages/0/id"}
    assert read(threadId="x" * 512, runId=" ").thread_id == "x" * 512


def test_a_message_id_is_required() -> None:
    """Without one the message could never be told from another."""
    assert set(pointers(body(messages=[{"role": "user", "content": "x"}]))) == {"/messages/0/id"}


def test_one_message_twice_is_one_and_two_of_one_id_are_refused() -> None:
    """Equality is that of JSON values: key order does not count."""
    turned = dict(reversed(USER.items()))
    assert bodies(read(messages=[USER, turned, USER])) == [USER]
    other = {**USER, "content": "Refund B-23"}
    assert set(pointers(body(messages=[USER, 3, other]))) == {"/messages/1", "/messages/2/id"}


def test_the_last_of_two_equal_keys_counts() -> None:
    """As in every peer's parser."""
    data = b'{"threadId":"a","threadId":"b","runId":"r","messages":[]}'
    assert decode_run_input(data, LIMITS).thread_id == "b"


def test_numbers_beyond_64_bits_are_read_as_floating_point() -> None:
    """They survive as the nearest double, like in a JavaScript client."""
    data = b'{"threadId":"t","runId":"r","messages":[],"state":1' + b"0" * 30 + b"}"
    assert decode_run_input(data, LIMITS).state == 1e30


def test_the_newest_user_text_joins_its_text_parts() -> None:
    """Media say nothing in text; assistants say nothing for the user."""
    parts = [
        {"type": "text", "text": "one"},
        {"type": "image", "source": {"type": "url", "value": "u"}},
        {"type": "text", "text": "two"},
    ]
    given = read(
        messages=[
            USER,
            {"id": "u2", "role": "user", "content": parts},
            {"id": "a", "role": "assistant", "content": "no"},
        ]
    )
    assert given.user_text == "one\ntwo"
    assert read(messages=[]).user_text == ""


def test_the_number_of_findings_is_bounded() -> None:
    """A hostile request gets a short answer, and a warning holds no long name."""
    assert len(refused(body(messages=[1] * 4_000)).errors) == 100
    given = read(**{f"{n}-{'x' * 5_000}": 1 for n in range(300)})
    assert len(given.warnings) == 100
    assert max(map(len, given.warnings)) < 300
