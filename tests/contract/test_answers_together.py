"""Many answers in one request: for each thread all or none (design 5)."""

from typing import Any

import pytest

from tests.contract.requirements import requirement
from tests.contract.rest import at_rest, get, inbox, post
from tests.contract.server import Client, Server, answer, approve, cancel, deny
from tests.contract.tools import Kit

ALL = "/interrupts/answers"


def entries(client: Client, *given: dict[str, Any]) -> list[dict[str, Any]]:
    return client.entries(*given)


async def test_a_whole_set_starts_its_run(server: Server, tools: Kit) -> None:
    """Design 5: as if the answers had come one by one, but for the waiting."""
    client = server.client(tools.mailing)
    await client.say()
    run = await post(server, ALL, {"answers": entries(client, approve(), deny(), cancel())})
    assert (run.status, list(run.json)) == (200, ["runId"])
    await at_rest(server, client)
    assert server.effects == [("lookup", "A-17"), ("email", "ann")]


async def test_a_part_of_a_set_is_held(server: Server, tools: Kit) -> None:
    """Design 2: the rest may come from somebody else."""
    client = server.client(tools.mailing)
    await client.say()
    given = entries(client, approve(), deny(), approve())
    run = await post(server, ALL, {"answers": given[:2]})
    assert (run.status, run.json) == (202, {"remaining": 1})
    run = await post(server, ALL, {"answers": given})
    assert run.status == 200
    await at_rest(server, client)
    assert server.effects == [("lookup", "A-17"), ("email", "ann"), ("email", "cyd")]


@requirement("RE-17", "RE-08")
@pytest.mark.parametrize(
    ("wrong", "status", "code", "pointers"),
    [
        ({1: answer({"approved": "yes"})}, 422, "invalid_payload", ["/answers/1/payload/approved"]),
        ({1: {"interruptId": "int_nope"}}, 404, "unknown_interrupt", ["/answers/1/interruptId"]),
        ({1: {"status": "maybe"}}, 422, "invalid_input", ["/answers/1/status"]),
        ({2: "twice"}, 422, "duplicate_entry", []),
    ],
)
async def test_one_that_cannot_be_taken_refuses_all(
    server: Server, tools: Kit, wrong: Any, status: int, code: str, pointers: list[str]
) -> None:
    """RE-17: nothing is kept, and the request says where."""
    client = server.client(tools.mailing)
    await client.say()
    given = entries(client, approve(), approve(), approve())
    stored = server.dump()
    for at, entry in wrong.items():
        if entry == "twice":
            given.append({**given[at], **deny()})
        else:
            given[at] = {**given[at], **entry}
    run = await post(server, ALL, {"answers": given})
    assert (run.status, run.problem["code"]) == (status, code)
    assert [error["pointer"] for error in run.problem.get("errors", ())] == pointers
    assert (server.dump(), server.effects) == (stored, [("lookup", "A-17")])


async def test_threads_are_independent_of_each_other(server: Server, tools: Kit) -> None:
    """Design 5: what one refuses does not keep the other waiting; each says what came of it."""
    good, part, bad = (
        server.client(tools.mailing, thread=name) for name in ("good", "part", "bad")
    )
    for client in (good, part, bad):
        await client.say()
    given = [
        *entries(bad, approve(), answer(1), approve()),
        *entries(good, deny(), deny(), deny()),
        *entries(part, deny()),
    ]
    run = await post(server, ALL, {"answers": given})
    assert run.status == 207
    items = {item.pop("threadId"): item for item in run.json["items"]}
    assert list(items["good"]) == ["runId"]
    assert items["part"] == {"remaining": 2}
    problem = items["bad"]["problem"]
    assert (problem["status"], problem["code"]) == (422, "invalid_payload")
    assert problem["errors"][0]["pointer"] == "/answers/1/payload"
    await at_rest(server, good)
    assert (await get(server, "/threads/good"))["status"] == "finished"
    assert [
        i["answer"]["held"] for i in await inbox(server, "?threadId=part") if "answer" in i
    ] == [True]
    assert not any("answer" in i for i in await inbox(server, "?threadId=bad"))
    rest = [*entries(bad, deny(), deny(), deny()), *entries(part, deny(), deny(), deny())]
    run = await post(server, ALL, {"answers": rest})
    assert run.status == 200
    assert all("runId" in item for item in run.json["items"])


@pytest.mark.parametrize("body", [{}, {"answers": []}, {"answers": {}}, {"answers": [1]}])
async def test_a_body_without_answers_is_422(server: Server, body: Any) -> None:
    """ER-01: an empty list answers nothing."""
    run = await post(server, ALL, body)
    assert (run.status, run.problem["code"]) == (422, "invalid_input")
    assert run.problem["errors"][0]["pointer"].startswith("/answers")
