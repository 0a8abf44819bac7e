"""What a provider is told of a thread: each row of the table in docs/models.md, there and back."""

import base64
from typing import Any

import pytest

from sayso.agents.providers import anthropic, completions, history
from sayso.providers import ModelRequest, Reply, RequestedCall, Round, last

DATA = base64.b64encode(b"bytes").decode()
Json = dict[str, Any]


def part(kind: str, source: str, value: str, mime: str = "", name: str = "") -> Json:
    """A content part as AG-UI has it."""
    made: Json = {"type": kind, "source": {"type": source, "value": value}}
    if mime:
        made["source"]["mimeType"] = mime
    if name:
        made["metadata"] = {"filename": name}
    return made


def user(*content: Any) -> Json:
    """A message of the user, a text or parts."""
    return {"id": "u", "role": "user", "content": content[0] if len(content) == 1 else content}


def as_completions(*messages: Json, **more: Any) -> list[Json]:
    """The history as chat completions take it."""
    sent: list[Json] = completions.body_of(ModelRequest("m", messages=messages, **more))["messages"]
    return sent


def as_anthropic(*messages: Json, **more: Any) -> list[Json]:
    """The history as Anthropic's messages take it."""
    sent: list[Json] = anthropic.body_of(ModelRequest("m", messages=messages, **more))["messages"]
    return sent


def call(call_id: str, name: str = "look", arguments: str = "{}") -> Json:
    """A call as AG-UI has it."""
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def calling(*calls: Json, text: str | None = None) -> Json:
    """A message of the assistant with calls."""
    content = {} if text is None else {"content": text}
    return {"id": "a", "role": "assistant", **content, "toolCalls": list(calls)}


def result(call_id: str, content: Any) -> Json:
    """A message with a result."""
    return {"id": "t", "role": "tool", "toolCallId": call_id, "content": content}


TEXT = {"type": "text", "text": "See"}
PICTURE = part("image", "data", DATA, "image/png")
PHOTO = part("image", "url", "https://shop.example/a.png")
SOUND = part("audio", "data", DATA, "audio/wav")
HUM = part("audio", "data", DATA, "audio/ogg")
REPORT = part("document", "data", DATA, "application/pdf", "report.pdf")
NOTES = part("document", "data", DATA, "text/plain", "notes.txt")
LINK = part("document", "url", "https://shop.example/report%201.pdf", "application/pdf")
FILM = part("video", "url", "https://shop.example/film.mp4", "video/mp4")


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (PICTURE, {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{DATA}"}}),
        (PHOTO, {"type": "image_url", "image_url": {"url": "https://shop.example/a.png"}}),
        (SOUND, {"type": "input_audio", "input_audio": {"data": DATA, "format": "wav"}}),
        (HUM, {"type": "text", "text": "[audio audio/ogg]"}),
        (
            REPORT,
            {
                "type": "file",
                "file": {
                    "filename": "report.pdf",
                    "file_data": f"data:application/pdf;base64,{DATA}",
                },
            },
        ),
        (
            LINK,
            {
                "type": "text",
                "text": "[document report 1.pdf: https://shop.example/report%201.pdf]",
            },
        ),
        (FILM, {"type": "text", "text": "[video film.mp4: https://shop.example/film.mp4]"}),
        ({"type": "hologram"}, {"type": "text", "text": "[hologram]"}),
    ],
)
def test_parts_of_a_user_as_chat_completions_have_them(given: Json, expected: Json) -> None:
    (message,) = as_completions(user(TEXT, given))
    assert message == {"role": "user", "content": [TEXT, expected]}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (
            PICTURE,
            {
                "type": "image",
                "source": {"type": "base64", "media_type": "image/png", "data": DATA},
            },
        ),
        (PHOTO, {"type": "image", "source": {"type": "url", "url": "https://shop.example/a.png"}}),
        (SOUND, {"type": "text", "text": "[audio audio/wav]"}),
        (
            REPORT,
            {
                "type": "document",
                "source": {"type": "base64", "media_type": "application/pdf", "data": DATA},
                "title": "report.pdf",
            },
        ),
        (
            NOTES,
            {
                "type": "document",
                "source": {"type": "text", "media_type": "text/plain", "data": "bytes"},
                "title": "notes.txt",
            },
        ),
        (
            LINK,
            {
                "type": "text",
                "text": "[document report 1.pdf: https://shop.example/report%201.pdf]",
            },
        ),
    ],
)
def test_parts_of_a_user_as_anthropic_has_them(given: Json, expected: Json) -> None:
    (message,) = as_anthropic(user(TEXT, given))
    assert message == {"role": "user", "content": [TEXT, expected]}


def test_what_has_no_form_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    history._warn.cache_clear()
    for _ in range(3):
        as_completions(user(TEXT, FILM))
    assert caplog.text.count("takes no video by a URL") == 1


def test_text_and_calls_are_one_message_and_results_follow_in_the_order_of_the_calls() -> None:
    messages = (
        user("go"),
        {"id": "1", "role": "assistant", "content": "Let me see."},
        calling(call("a"), call("b", arguments='{"x":1}')),
        result("b", "second"),
        result("a", "first"),
    )
    sent = as_completions(*messages)
    assert [m["role"] for m in sent] == ["user", "assistant", "tool", "tool"]
    assert (sent[1]["content"], len(sent[1]["tool_calls"])) == ("Let me see.", 2)
    assert [(m["tool_call_id"], m["content"]) for m in sent[2:]] == [
        ("a", "first"),
        ("b", "second"),
    ]
    _, assistant, results = as_anthropic(*messages)
    assert [block["type"] for block in assistant["content"]] == ["text", "tool_use", "tool_use"]
    assert assistant["content"][2]["input"] == {"x": 1}
    assert [block["tool_use_id"] for block in results["content"]] == ["a", "b"]


def test_neighbours_of_one_role_are_merged_for_anthropic_alone() -> None:
    messages = (user("one"), user("two"), {"id": "s", "role": "system", "content": "Be kind."})
    assert len(as_completions(*messages)) == 3
    (message,) = as_anthropic(*messages)
    assert [block["text"] for block in message["content"]] == ["one", "two", "Be kind."]


def test_parts_of_a_result_stand_behind_all_results_or_in_it() -> None:
    messages = (calling(call("a"), call("b")), result("a", [TEXT, PICTURE]), result("b", "ok"))
    _, first, second, beside = as_completions(*messages)
    assert (first["content"], second["content"]) == ("See", "ok")
    assert beside == {
        "role": "user",
        "content": [{"type": "image_url", "image_url": {"url": f"data:image/png;base64,{DATA}"}}],
    }
    beginning, _, results = as_anthropic(*messages)
    assert beginning["role"] == "user"
    assert [block["type"] for block in results["content"][0]["content"]] == ["text", "image"]


def test_pairs_hold_in_any_list() -> None:
    """A history that an author trimmed by hand may have lost either half."""
    messages = (user("go"), result("gone", "of no call"), calling(call("left")), user("and?"))
    sent = as_completions(*messages)
    assert [m["role"] for m in sent] == ["user", "assistant", "tool", "user"]
    assert sent[2] == {
        "role": "tool",
        "tool_call_id": "left",
        "content": "Unanswered: nobody said what came of this call.",
    }


def test_reasoning_is_left_out_unless_it_is_to_be_echoed() -> None:
    messages = (
        user("go"),
        {"id": "r", "role": "reasoning", "content": "Hm."},
        {"id": "a", "role": "assistant", "content": "Yes."},
    )
    assert "Hm." not in str(as_completions(*messages))
    assert as_completions(*messages, echo_reasoning=True)[1]["reasoning_content"] == "Hm."
    assert "Hm." not in str(as_anthropic(*messages))
    reply = Reply("", (RequestedCall("1", "look", ""),), "tool_calls", raw={"reasoning": "So."})
    rounds = [Round(reply, ("seen",))]
    assert "So." not in str(as_completions(user("go"), rounds=rounds))
    echoed = as_completions(user("go"), rounds=rounds, echo_reasoning=True)
    assert echoed[1]["reasoning_content"] == "So."


def test_thinking_goes_back_as_it_came_with_its_signature() -> None:
    reader = anthropic.MessagesReader()
    events: list[Json] = [
        {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking"}},
        {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "thinking_delta", "thinking": "Hm."},
        },
        {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "signature_delta", "signature": "sig"},
        },
        {
            "type": "content_block_start",
            "index": 1,
            "content_block": {"type": "redacted_thinking", "data": "xyz"},
        },
        {"type": "content_block_start", "index": 2, "content_block": {"type": "text", "text": ""}},
        {
            "type": "content_block_start",
            "index": 3,
            "content_block": {"type": "tool_use", "id": "t", "name": "look", "input": {}},
        },
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {}},
    ]
    pieces = [piece for event in events for piece in reader.take(event)]
    assert pieces == [("thought", "Hm.")]
    assert reader.take({"type": "content_block_stop", "index": 0}) == [("sealed", "sig")]
    assert reader.take({"type": "content_block_stop", "index": 1}) == [("redacted", "xyz")]
    sent = as_anthropic(user("go"), rounds=[Round(reader.reply("h"), ("seen",))])
    assert sent[1]["content"] == [
        {"type": "thinking", "thinking": "Hm.", "signature": "sig"},
        {"type": "redacted_thinking", "data": "xyz"},
        {"type": "tool_use", "id": "t", "name": "look", "input": {}},
    ]


def test_a_reply_of_another_provider_goes_back_in_this_one_s_words() -> None:
    """An agent may be deployed with another client while its turn waits."""
    reply = Reply("So.", (RequestedCall("1", "look", '{"a":1}'),), "tool_use", raw={"blocks": []})
    (_, assistant, told) = as_completions(user("go"), rounds=[Round(reply, ("seen",))])
    assert (assistant["content"], told["content"]) == ("So.", "seen")
    other = Reply("So.", (RequestedCall("1", "look", '{"a":1}'),), "tool_calls")
    sent = as_anthropic(user("go"), rounds=[Round(other, ("seen",))])
    assert [block["type"] for block in sent[1]["content"]] == ["text", "tool_use"]


def test_calls_whose_numbers_are_missing_or_all_alike_are_told_apart() -> None:
    def delta(*calls: Json) -> Json:
        return {"choices": [{"index": 0, "delta": {"tool_calls": list(calls)}}]}

    def made(call_id: str, name: str, arguments: Any, **more: Any) -> Json:
        return {"id": call_id, "function": {"name": name, "arguments": arguments}, **more}

    alike = [delta(made("1", "a", "{}", index=0)), delta(made("2", "b", "{}", index=0))]
    without = [delta(made("1", "a", '{"x"')), delta({"function": {"arguments": ":1}"}})]
    repeated = [delta(made("1", "a", "{", index=0)), delta(made("1", "a", "}", index=0))]
    objects = [delta(made("1", "a", {"x": 1}, index=0))]
    for chunks, expected in (
        (alike, [("1", "a", "{}"), ("2", "b", "{}")]),
        (without, [("1", "a", '{"x":1}')]),
        (repeated, [("1", "a", "{}")]),
        (objects, [("1", "a", '{"x":1}')]),
    ):
        reader = completions.CompletionsReader()
        for chunk in chunks:
            reader.take(chunk)
        reader.take({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]})
        calls = [(c.id, c.name, c.arguments) for c in reader.reply("h").calls]
        assert calls == expected


def test_a_history_is_trimmed_where_a_message_of_the_user_begins() -> None:
    messages = [user("one"), calling(call("a")), result("a", "r"), user("two"), user("three")]
    assert last(5)(messages) == messages
    assert last(4)(messages) == messages[3:]
    assert last(1)(messages) == messages[4:]
    assert last(1)([*messages, calling(call("b")), result("b", "r")])[0] == messages[4]
    with pytest.raises(ValueError, match="one message at least"):
        last(0)
