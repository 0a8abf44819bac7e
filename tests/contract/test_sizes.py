"""What one answer, or one request with answers, may weigh: refused whole, by every way in."""

from typing import Any

import pytest

from sayso import Limits, Question, Turn
from tests.contract.rest import call, post
from tests.contract.server import Server, answer, approve, cancel, served
from tests.contract.tools import Kit

LONG = {"note": "z" * 20_000}


@pytest.mark.every_store
@pytest.mark.parametrize("entry", [cancel(metadata=LONG), answer(True, metadata=LONG)])
async def test_long_metadata_of_an_answer_is_refused_whole(
    server: Server, tools: Kit, entry: dict[str, Any]
) -> None:
    """In the inbox, together, in a resume and in `forwardedProps`; nothing of it is kept."""
    client = server.client(tools.refunding)
    await client.say()
    (asked,) = [one["id"] for one in client.model.pending]
    named = {"interruptId": asked, **entry}
    before = server.dump()
    for run, pointer in (
        (await post(server, f"/interrupts/{asked}/answer", entry), "/metadata"),
        (
            await post(server, "/interrupts/answers", {"answers": [named]}),
            "/answers/0/metadata",
        ),
        (await client.run(resume=[named]), "/resume/0/metadata"),
        (
            await client.run(forwardedProps={"resume": [named]}),
            "/forwardedProps/resume/0/metadata",
        ),
    ):
        assert (run.status, run.problem["code"]) == (422, "invalid_input")
        assert [error["pointer"] for error in run.problem["errors"]] == [pointer]
        assert "z" * 100 not in run.body.decode()
    assert server.dump() == before


async def test_more_answers_than_a_request_may_have_are_not_looked_at(
    server: Server, tools: Kit
) -> None:
    """One of sixty thousand was seconds of work, and megabytes of errors."""
    client = server.client(tools.refunding)
    await client.say()
    many = [{"interruptId": f"int_{n}", **cancel()} for n in range(1_001)]
    for run, pointer in (
        (await post(server, "/interrupts/answers", {"answers": many}), "/answers"),
        (await client.run(resume=many), "/resume"),
        (await client.run(forwardedProps={"resume": many}), "/forwardedProps/resume"),
    ):
        assert (run.status, run.problem["code"]) == (422, "invalid_input")
        assert [error["pointer"] for error in run.problem["errors"]] == [pointer]
    unknown = await post(server, "/interrupts/answers", {"answers": many[:1_000]})
    assert (unknown.status, len(unknown.problem["errors"])) == (404, 100)


@pytest.mark.every_store
async def test_what_was_spelled_out_counts_with_the_payload(server: Server) -> None:
    """Digits beside an answer belong to what is answered, not to what is said about it."""

    async def agent(turn: Turn) -> None:
        await turn.interrupt("input_required", "Which?", schema=list[int])

    client = server.client(agent)
    await client.say()
    numbers = [2**53 + 1 + 2 * n for n in range(800)]
    exact = {f"/{at}": str(number) for at, number in enumerate(numbers)}
    entry = answer([float(n) for n in numbers], metadata={"sayso": {"exact": exact}})
    run = await client.resume(entry)
    assert run.outcome == "success"


async def test_limits_of_answers_can_be_set(tmp_path: Any) -> None:
    """A resume may answer all that may be open, whatever the limit of answers is."""
    async with served("memory", tmp_path, limits=Limits(metadata=10, answers=1)) as server:

        async def agent(turn: Turn) -> None:
            await turn.interrupt_all(
                [Question(reason="confirmation", message=text) for text in ("One?", "Two?")]
            )

        client = server.client(agent)
        await client.say()
        one, two = [each["id"] for each in client.model.pending]
        both = [{"interruptId": each, **approve()} for each in (one, two)]
        many = await call(server.app, "POST", "/interrupts/answers", {"answers": both})
        assert many.status == 422
        noted = await post(server, f"/interrupts/{one}/answer", approve() | {"metadata": LONG})
        assert noted.status == 422
        done = await client.run(resume=both)
        assert done.outcome == "success", done.last
