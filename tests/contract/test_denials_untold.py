"""The server dies between a denial and telling copies of it; an answer to one meets it (OC-20)."""

import asyncio
from typing import Any

import pytest

from sayso import approval
from tests.contract.replicas import replica
from tests.contract.requirements import requirement
from tests.contract.server import Server, approve, deny, eventually, taken_over
from tests.contract.test_approvers import rest, says
from tests.contract.test_denials import company, copied, paying  # noqa: F401 - a fixture


def dying(server: Server, monkeypatch: pytest.MonkeyPatch) -> asyncio.Event:
    """The process goes no further than a denial that is durable; set once it has come there."""
    reached = asyncio.Event()

    async def tell(*_: Any) -> None:
        reached.set()
        await asyncio.Event().wait()

    monkeypatch.setattr(server.app._engine._denials, "tell", tell)
    return reached


@requirement("OC-20")
async def test_a_kept_no_that_is_said_again_is_told_to_copies(
    company: Server,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whoever gets no answer, for the server died before it told of the denial, sends it again."""
    client = paying(company)
    one, _ = (await client.say()).interrupts
    made = (await copied(company, "ann", client, one)).json["threadId"]
    with monkeypatch.context() as until_it_dies:
        reached = dying(company, until_it_dies)
        saying = asyncio.ensure_future(says(company, "lea", one, deny("fraud")))
        await reached.wait()
        saying.cancel()
        await asyncio.gather(saying, return_exceptions=True)
    assert (await says(company, "lea", one, deny("fraud"))).status == 202
    shown = (await rest(company, "ann", "GET", f"/threads/{made}")).json["interrupts"]
    (said,) = shown[0]["metadata"]["sayso"]["before"]
    assert (said["said"], said["by"], said["reason"]) == ("denied", "lea", "fraud")


async def dies_over(server: Server, one: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lea denies it, which is durable, and the server goes no further."""
    with monkeypatch.context() as until_it_dies:
        reached = dying(server, until_it_dies)
        saying = asyncio.ensure_future(says(server, "lea", one, deny("fraud")))
        await reached.wait()
        saying.cancel()
        await asyncio.gather(saying, return_exceptions=True)


@requirement("OC-20")
@pytest.mark.parametrize("denied_in", ["thread", "copy"])
@pytest.mark.parametrize("stopped_too", [False, True])
async def test_an_answer_to_a_copy_meets_a_kept_no_that_nobody_told_it(
    company: Server,  # noqa: F811
    denied_in: str,
    stopped_too: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """By every way in, also once its owner has stopped what was denied; whoever looks is told."""
    people = approval.Approvers(by="lead", forks_of_denied="refuse")
    client = paying(company, approval.always(approvers=people), owner="lea")
    one, _ = (await client.say()).interrupts
    threads = [client.thread]
    threads += [(await copied(company, "lea", client, one)).json["threadId"] for _ in range(3)]
    where = threads.pop(0 if denied_in == "thread" else 1)

    async def question(thread: str) -> Any:
        shown = (await rest(company, "lea", "GET", f"/threads/{thread}")).json["interrupts"]
        return shown[0]

    await dies_over(company, await question(where), monkeypatch)
    if stopped_too:
        assert (await rest(company, "lea", "POST", f"/threads/{where}/stop")).status == 200
    looked, answered, resumed = threads
    path = f"/interrupts/{(await question(looked))['id']}"
    (said,) = (await rest(company, "leo", "GET", path)).json["metadata"]["sayso"]["before"]
    assert (said["said"], said["by"], said["threadId"]) == ("denied", "lea", where)
    asked = await question(answered)
    if not stopped_too:
        assert "before" not in asked["metadata"]["sayso"]
    yes = await says(company, "leo", asked, approve())
    assert (yes.status, yes.problem["code"]) == (409, "denied_before")
    there = client.again(thread=resumed)
    await there.connect()
    assert (await there.resume(approve(), approve())).outcome == "denied_before"
    assert company.effects == []


@requirement("OC-20")
async def test_whoever_takes_a_turn_over_tells_copies_of_the_no_that_let_it_go_on(
    company: Server,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The server died between settling it and telling of it; until then an answer meets it too."""
    people = approval.Approvers(by="lead", forks_of_denied="refuse")
    client = paying(company, approval.always(approvers=people), amounts=(1.0,))
    (one,) = (await client.say()).interrupts
    made = [(await copied(company, "ann", client, one)).json["threadId"] for _ in range(2)]
    dead: list[bool] = []

    async def is_dead() -> bool:
        return bool(dead)

    def dies() -> None:
        company.store.disconnect()
        dead.append(True)

    company.store.fail("claim", when="after", hook=dies)
    saying = asyncio.ensure_future(says(company, "lea", one, deny("fraud")))
    await eventually(is_dead)
    await asyncio.gather(saying, return_exceptions=True)
    company.store.restore()

    async def question(thread: str) -> Any:
        (asked,) = (await rest(company, "ann", "GET", f"/threads/{thread}")).json["interrupts"]
        return asked

    early, late = [await question(thread) for thread in made]
    assert "before" not in early["metadata"]["sayso"]
    assert (await says(company, "leo", early, approve())).problem["code"] == "denied_before"
    assert "before" not in (await question(made[1]))["metadata"]["sayso"]
    agent = company.app._engine._services.agents.newest("payer")
    assert agent is not None
    async with replica(company, ("payer", agent.function)):
        await taken_over(company, client)
    (said,) = (await question(made[1]))["metadata"]["sayso"]["before"]
    assert (said["said"], said["by"], said["threadId"]) == ("denied", "lea", client.thread)
    assert (await says(company, "leo", late, approve())).problem["code"] == "denied_before"
    assert company.effects == []
