"""Results of tools that are more than text, and metadata of messages, to both generations."""

from typing import Any

import pytest

from sayso import Turn, approval, parts
from sayso.agents.parts import Part
from tests.contract.requirements import requirement
from tests.contract.server import Server, approve

Json = dict[str, Any]

CHART = [
    {"type": "text", "text": "Sales by quarter"},
    {"type": "image", "source": {"type": "data", "value": "iVBO", "mimeType": "image/png"}},
]


def charting(server: Server, **options: Any) -> tuple[Any, list[Any]]:
    """An agent that draws, and what it made of it."""
    seen: list[Any] = []

    @server.app.tool(**options)
    async def chart(year: int) -> list[Part]:
        server.effects.append(year)
        return [
            parts.text("Sales by quarter"),
            parts.image(data=b"\x89PN", mime_type="image/png"),
        ]

    async def agent(turn: Turn) -> None:
        drawn = await turn.call(chart, year=2025)
        await turn.interrupt("confirmation", "Good?")
        seen.append((str(drawn), drawn.value))
        await turn.say("Fine.")

    return agent, seen


@requirement("TC-06", "TC-07", "TR-13", "MS-03")
@pytest.mark.parametrize("version", ["1.0", None])
async def test_parts_go_to_those_who_can_read_them(server: Server, version: str | None) -> None:
    """TC-07: a list to a peer of 1.0, its text to another; in the event, in every snapshot."""
    content = CHART if version else "Sales by quarter"
    agent, seen = charting(server)
    client = server.client(agent, version=version)
    run = await client.say()
    (result,) = run.of("TOOL_CALL_RESULT")
    assert result["content"] == content
    shown = [run, await client.resume(approve()), await client.again().connect()]
    for each in shown:
        assert [m["content"] for m in each.snapshot if m["role"] == "tool"] == [content]
    assert client.model.messages == shown[-1].snapshot
    assert seen == [("Sales by quarter", [Part.model_validate(part) for part in CHART])]
    other = client.again(version=None if version else "1.0")
    assert [m["content"] for m in (await other.connect()).snapshot if m["role"] == "tool"] == [
        "Sales by quarter" if version else CHART
    ]


@requirement("TC-06", "TB-15", "OC-09")
async def test_an_edited_call_says_so_in_front_of_its_parts(server: Server) -> None:
    """OC-09: what ran is told with the result, whatever form that has."""
    agent, seen = charting(server, approval=approval.always, editable=True)
    client = server.client(agent)
    await client.say()
    run = await client.resume(approve(editedArgs={"year": 2024}))
    (result,) = run.of("TOOL_CALL_RESULT")
    told, *rest = result["content"]
    assert "the call ran with" in told["text"]
    assert '"year":2024' in told["text"]
    assert rest == CHART
    await client.resume(approve())
    assert seen[0][0].endswith("Result: Sales by quarter")


async def test_one_part_is_a_list_of_one_and_a_list_like_it_is_a_value(server: Server) -> None:
    """Parts are told by their type; objects that look like them are data."""

    @server.app.tool()
    async def one() -> Part:
        return parts.text("alone")

    @server.app.tool()
    async def plain() -> Any:
        return [parts.document(url="https://example.com/a.pdf")]

    @server.app.tool()
    async def data() -> list[Json]:
        return [{"type": "text", "text": "data"}]

    async def agent(turn: Turn) -> None:
        for tool in (one, plain, data):
            await turn.call(tool)

    run = await server.client(agent).say()
    assert [e["content"] for e in run.of("TOOL_CALL_RESULT")] == [
        [{"type": "text", "text": "alone"}],
        [{"type": "document", "source": {"type": "url", "value": "https://example.com/a.pdf"}}],
        '[{"type":"text","text":"data"}]',
    ]


@requirement("MD-01", "MD-02")
async def test_metadata_of_a_message_is_kept_whole(server: Server) -> None:
    """MD-02: unknown keys and nulls inside, in the stream and in every snapshot."""
    given = {"shop": {"badge": None, "n": [1]}}

    async def agent(turn: Turn) -> None:
        await turn.say("Hello.", metadata=given)
        for wrong in ({"ag-ui": 1}, [1]):
            with pytest.raises(ValueError, match="MD-01"):
                turn.message(metadata=wrong)  # type: ignore[arg-type]
        await turn.interrupt("confirmation", "Go on?")

    client = server.client(agent)
    run = await client.say()
    (start,) = run.of("TEXT_MESSAGE_START")
    assert start["metadata"] == given
    for each in (run, await client.resume(approve()), await client.again().connect()):
        assert [m["metadata"] for m in each.snapshot if m["role"] == "assistant"] == [given]
