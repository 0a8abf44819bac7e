"""Which of a request's messages a thread has already: ids first, then what is said, and where."""

import time
from dataclasses import replace
from typing import Any

import orjson
import pytest

from sayso.base.records import Message, Principal, TurnRecord
from sayso.gate.alignment import Alignment, align
from sayso.protocol.forward_compat import MAX_ID_CHARS
from tests.contract.requirements import requirement
from tests.threads import calling, message, result


def user(identifier: str, text: Any, **members: Any) -> Message:
    return message(identifier, content=text, **members)


def told(identifier: str, text: str) -> Message:
    return message(identifier, "assistant", content=text)


def fresh(sent: Alignment) -> list[str]:
    return [one.id for one in sent.fresh]


def waiting(history: int) -> TurnRecord:
    """A turn that waits, begun when the thread had so many messages."""
    return TurnRecord(
        key="turn_1",
        agent="a",
        version="1",
        status="suspended",
        request=orjson.dumps({"history": history}),
        principal=Principal(),
        started_at=0,
    )


TALK = (user("u1", "one"), told("a1", "ok"), user("u2", "two"), told("a2", "ok"))


def again(*texts: str) -> list[Message]:
    """The talk under new ids: at even places the user's texts, at odd ones the assistant's."""
    return [
        user(f"x{n}", text) if n % 2 == 0 else told(f"x{n}", text) for n, text in enumerate(texts)
    ]


def test_a_whole_list_under_new_ids_brings_what_follows_it() -> None:
    """The longest run that both have stands for the stored; what comes behind is new."""
    sent = align(again("one", "ok", "two", "ok", "three"), TALK)
    assert sent.named == {"u1", "a1", "u2", "a2"}
    assert [one.id for one in sent.new] == ["x4"]


def test_the_end_of_a_list_under_new_ids_is_found_where_it_stands() -> None:
    """A client that sends its last four, or three."""
    sent = align(
        [told("x1", "ok"), user("x2", "two"), told("x3", "ok"), user("x4", "one")],
        TALK,
    )
    assert sent.named == {"a1", "u2", "a2"}
    assert fresh(sent) == ["x4"]


def test_a_message_that_comes_alone_is_new_whatever_it_says() -> None:
    """Three times "next" to an agent that says nothing are three turns."""
    stored: tuple[Message, ...] = (user("u1", "next"),)
    assert fresh(align([user("x1", "next")], stored)) == ["x1"]
    assert fresh(align([user("x1", "next"), user("x2", "next")], stored)) == ["x2"]
    stored = (*stored, user("u2", "next"))
    assert fresh(align([user(f"y{n}", "next") for n in range(3)], stored)) == ["y2"]
    assert fresh(align([user(f"y{n}", "next") for n in range(2)], stored)) == ["y1"]


def test_an_edit_is_new_and_so_is_all_behind_it() -> None:
    """What differs was said now, although what follows may be said again."""
    sent = align(again("one", "ok", "TWO", "ok"), TALK)
    assert sent.named == {"u1", "a1"}
    assert [one.id for one in sent.new] == ["x2", "x3"]


def test_a_regenerate_under_new_ids_brings_nothing_new() -> None:
    """Its last message is the stored one that is answered anew."""
    sent = align(again("one", "ok", "two"), TALK)
    assert sent == Alignment(frozenset({"u1", "a1", "u2"}), ())


def test_between_known_messages_what_says_the_same_is_the_stored_one() -> None:
    """In order, and each stored message once; anything else is new."""
    sent = align([user("x0", "one"), TALK[1], user("x2", "two"), user("x3", "two"), TALK[3]], TALK)
    assert sent.named == {"u1", "a1", "u2", "a2"}
    assert fresh(sent) == ["x3"]


def test_behind_the_last_known_one_each_is_looked_at_beside_its_own() -> None:
    """The first that differs is where the client went another way."""
    stored = (*TALK, user("u3", "three"), user("u4", "four"))
    assert fresh(align([*TALK, user("x", "three"), user("y", "four")], stored)) == []
    assert fresh(align([*TALK, user("y", "four")], stored)) == ["y"]
    assert fresh(align([*TALK, user("x", "three"), user("y", "five")], stored)) == ["y"]


def test_a_known_text_that_is_said_again_is_new() -> None:
    """Ids go first: the stored message is taken."""
    sent = align([*TALK, user("u3", "two")], TALK)
    assert fresh(sent) == ["u3"]


def test_a_message_with_our_calls_is_all_that_it_covers() -> None:
    """A text and a later turn's call merged under the text's id, its results under new ones."""
    stored = (
        user("u1", "go"),
        told("a1", "Let me see."),
        calling("a2", "c1"),
        result("t1", "c1", content="done"),
        user("u2", "more"),
        calling("a3", "c2"),
        result("t2", "c2", content="done"),
    )
    merged = calling("a1", "c1", content="Let me see.")
    sent = align(
        [
            user("x0", "go"),
            merged,
            result("x1", "c1", content="done"),
            user("x2", "more"),
            calling("x3", "c2", content=""),
            result("x4", "c2", content="done"),
            user("x5", "more"),
        ],
        stored,
    )
    assert sent.named == {one.id for one in stored}
    assert [one.id for one in sent.new] == ["x5"]


def test_a_result_is_the_stored_one_of_its_call_unless_that_is_named() -> None:
    """CopilotKit keeps an echo of its own beside the server's result."""
    stored = (user("u1", "go"), calling("a1", "c1"), result("t1", "c1", content="done"))
    echo = result("own", "c1", content='{"approved":true}')
    assert [one.id for one in align([*stored, echo], stored).new] == ["own"]
    sent = align([*stored[:2], result("x", "c1", content="done")], stored)
    assert sent == Alignment(frozenset({"u1", "a1", "t1"}), ())


def test_beside_answers_what_began_the_turn_is_recognised() -> None:
    """A client that sends its last message again with the answer means no further turn."""
    stored = (*TALK, user("u3", "order"), calling("a3", "c1"))
    alone = [user("x", "order")]
    assert fresh(align(alone, stored, waiting(5))) == []
    assert fresh(align(alone, stored)) == ["x"]
    assert fresh(align([user("x", "and quickly")], stored, waiting(5))) == ["x"]
    assert fresh(align(alone, stored, replace(waiting(5), status="finished"))) == ["x"]


def test_hidden_messages_stand_for_nothing_but_by_their_ids() -> None:
    """Who goes back to an earlier wording says it now."""
    stored = (replace(TALK[0], visibility="hidden"), user("u9", "ONE"), told("a9", "ok"))
    assert fresh(align(again("one", "ok", "next"), stored)) == ["x0", "x2"]
    assert align([TALK[0]], stored).named == {"u1"}


@requirement("ID-01")
def test_another_text_under_a_used_id_is_a_message_of_its_own() -> None:
    """A page that counts from 1 again; a retry gets the same id, and what it says is said once."""
    stored = (user("1", "hello"), told("a1", "hi"))
    sent = align([user("1", "cancel my order")], stored)
    (new,) = sent.fresh
    assert new.id.startswith("1~")
    assert len(new.id) == 10
    assert orjson.loads(new.body) == {"id": new.id, "role": "user", "content": "cancel my order"}
    assert len(sent.warnings) == 1
    retried = align([user("1", " cancel my order\n")], (*stored, new))
    assert retried == Alignment(frozenset({new.id}), ())
    both = align([user("1", "hello"), told("a1", "hi"), user(new.id, "x")], (*stored, new))
    assert fresh(both)[0].startswith(new.id)


@pytest.mark.parametrize(
    "same",
    [
        user("1", " hello \n"),
        user("1", [{"type": "text", "text": "hello"}]),
        user("1", "hello", metadata={"tab": 1}),
    ],
)
def test_the_same_text_under_its_id_is_the_stored_message(same: Message) -> None:
    """Parts joined, outer blanks aside; members beside the text do not make another of it."""
    assert align([same], (user("1", "hello"),)).new == ()


def test_a_text_that_a_snapshot_had_cut_is_the_stored_one() -> None:
    """It came to the client shortened, and comes back so."""
    whole, cut = "x" * 5_000, "x" * 2_048 + "…"
    assert align([user("1", cut)], (user("1", whole),)).new == ()
    assert align([user("1", "x" * 2_047 + "…")], (user("1", whole),)).new != ()


def test_a_user_message_under_an_assistants_id_is_new() -> None:
    """It is nothing that the thread has."""
    (new,) = align([user("a1", "mine")], TALK).fresh
    assert new.id.startswith("a1~")


def test_an_id_stays_within_its_length() -> None:
    """The longest id leaves room for what tells it apart."""
    longest = "i" * MAX_ID_CHARS
    (new,) = align([user(longest, "b")], (user(longest, "a"),)).fresh
    assert len(new.id) == MAX_ID_CHARS


def test_media_count_by_type_and_source() -> None:
    """The same picture is the same, another one is another."""

    def picture(identifier: str, where: str) -> Message:
        source = {"type": "url", "value": where}
        return user(identifier, [{"type": "image", "source": source}])

    stored = (picture("u1", "https://a"), told("a1", "nice"))
    assert align([picture("x", "https://a"), told("y", "nice")], stored).new == ()
    sent = align([picture("x", "https://b"), stored[1]], stored)
    assert fresh(sent) == ["x"]


def test_empty_shells_of_a_client_are_nothing() -> None:
    """An assistant's message without text or calls would be appended anew by each request."""
    sent = align([*again("one", "ok"), told("x9", ""), user("x10", "two"), told("x11", "ok")], TALK)
    assert (len(sent.named), sent.new) == (4, ())


@pytest.mark.parametrize("alike", [True, False])
def test_long_lists_are_aligned_in_time_that_grows_with_them(alike: bool) -> None:
    """A request may have 5,000 messages, and they may all say the same."""
    texts = ["x" if alike else str(n) for n in range(5_000)]
    stored = [user(f"u{n}", text) for n, text in enumerate(texts)]
    others = [user(f"x{n}", text if alike else f"{text}!") for n, text in enumerate(texts)]
    began = time.process_time()
    align(others, stored)
    align([stored[0], *others[1:-1], stored[-1]], stored)
    assert time.process_time() - began < 2
