"""What clients from before 1.0 are told, in words of theirs."""

import pytest

from sayso.base import jsonvalue
from sayso.protocol.client_profile import ClientProfile
from sayso.protocol.compat import as_text, bodies_for, needs_v1
from sayso.streams.ending import Ending
from tests.bodies import NEW, OLD, attached, events, stream_of
from tests.contract.requirements import requirement

IMAGE = {"type": "image", "source": {"type": "url", "value": "https://example.com/a.png"}}
PARTS = [{"type": "text", "text": "Sales"}, IMAGE, {"type": "text", "text": "Costs"}]


@requirement("TC-15", "VN-07")
@pytest.mark.parametrize(
    ("content", "text"),
    [("as it is", "as it is"), (PARTS, "Sales\nCosts"), ([IMAGE], ""), ([], "")],
)
def test_parts_are_flattened_to_their_text_and_nothing_is_invented(
    content: object, text: str
) -> None:
    """TC-15, VN-07: what is no text is left out; a result without text is the empty string."""
    assert as_text(content) == text


@requirement("TC-07", "VN-07")
async def test_each_generation_reads_a_result_in_its_own_words(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """TC-07: a list to peers that declared 1.0, the text to others, told in the log; same ids."""
    stream = stream_of()
    new, old = attached(stream, "new", NEW), attached(stream, "old", OLD)
    result = {"type": "TOOL_CALL_RESULT", "messageId": "m", "toolCallId": "c"}
    stream.emit({"type": "CUSTOM", "name": "a:b", "value": 1})
    stream.emit({**result, "content": PARTS})
    stream.emit({"type": "CUSTOM", "name": "a:b", "value": 2})
    stream.finish(Ending(type="success"))
    for reader, content in ((new, PARTS), (old, "Sales\nCosts")):
        _, first, told, last, _ = await events(reader)
        assert told == {**result, "content": content}
        assert (first["value"], last["value"]) == (1, 2)
    assert "flattened" in caplog.text


@requirement("TC-07", "VN-07")
async def test_snapshots_too_are_told_in_the_words_of_their_readers() -> None:
    """TC-07: a list in a stored tool message would cost an older client the whole run."""
    tool = {"id": "m", "role": "tool", "toolCallId": "c", "content": PARTS}
    plain = jsonvalue.encode({"id": "u", "role": "user", "content": '"content":[ in a text'})
    bodies = [plain, jsonvalue.encode(tool)]
    stream = stream_of()
    early = [(attached(stream, "r", peer), peer) for peer in (NEW, OLD)]
    stream.snapshot(messages=bodies, state=b"{}")
    late = [(stream.attach("r", peer, messages=bodies, state=None), peer) for peer in (NEW, OLD)]
    stream.finish(Ending(type="success"))
    for reader, peer in early + late:
        (shown,) = [e for e in await events(reader) if e["type"] == "MESSAGES_SNAPSHOT"]
        content = PARTS if peer is NEW else "Sales\nCosts"
        assert shown["messages"] == [jsonvalue.decode(plain), {**tool, "content": content}]


@requirement("VN-07")
def test_files_of_a_provider_are_left_out_for_older_clients() -> None:
    """VN-07: that source is fatal to 0.0.59; the rest of the message stays."""
    file = {"type": "image", "source": {"type": "file", "value": "f"}}
    body = jsonvalue.encode({"id": "u", "role": "user", "content": [PARTS[0], file, IMAGE]})
    kept = {"id": "u", "role": "user", "content": [PARTS[0], IMAGE]}
    assert jsonvalue.decode(bodies_for([body], ClientProfile())[0]) == kept
    assert bodies_for([body], ClientProfile(speaks_v1=True, speaks_v1_1=True)) == [body]
    untouched = jsonvalue.encode(kept)
    assert bodies_for([untouched], ClientProfile()) == [untouched]


@requirement("VN-07")
def test_what_older_clients_can_read_goes_out_as_it_is() -> None:
    """VN-07: nothing is changed that need not be."""
    for event in (
        {"type": "TOOL_CALL_RESULT", "messageId": "m", "toolCallId": "c", "content": "x"},
        {"type": "CUSTOM", "name": "a:b", "value": [1]},
    ):
        assert not needs_v1(event)


def test_the_type_of_a_sealed_value_is_for_clients_that_declared_its_version() -> None:
    """1.1 has added it: of messages and of calls; the value stays, and what a user said of it."""
    said = '"encryptedValueType": is what I typed'
    body = jsonvalue.encode(
        {
            "id": "a1",
            "role": "assistant",
            "content": said,
            "encryptedValue": "x",
            "encryptedValueType": "maker.kind",
            "toolCalls": [{"id": "c1", "encryptedValue": "y", "encryptedValueType": "maker.call"}],
        }
    )
    (plain,) = bodies_for([body], ClientProfile(speaks_v1=True))
    assert jsonvalue.decode(plain) == {
        "id": "a1",
        "role": "assistant",
        "content": said,
        "encryptedValue": "x",
        "toolCalls": [{"id": "c1", "encryptedValue": "y"}],
    }
    assert bodies_for([body], ClientProfile(speaks_v1=True, speaks_v1_1=True)) == [body]
