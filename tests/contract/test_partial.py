"""`partial="accumulate"`: answers come one request after another; `unknown_entries="ignore"`."""

import asyncio
import logging
from typing import Any

import pytest

from sayso import Question, Turn
from sayso.base.records import Update
from tests.contract.optional import client_of, interrupt_of, past
from tests.contract.requirements import requirement
from tests.contract.server import Server, answer, approve, cancel, deny, eventually, taken_over
from tests.contract.tools import Kit


def emails(server: Server) -> list[str]:
    return [e[1] for e in server.effects if e[0] == "email"]


@requirement("CR-3", "OC-01", "RE-12", "RE-16")
async def test_answers_may_come_one_by_one_in_any_order(server: Server, tools: Kit) -> None:
    """C6, C9: nothing runs before the last; the rest is asked again under the same ids."""
    client = client_of(server, tools.mailing, partial="accumulate")
    first = await client.say()
    ann, ben, cyd = first.interrupts
    one = await client.run(resume=[{"interruptId": ben["id"], **approve()}])
    assert one.types == ["RUN_STARTED", "MESSAGES_SNAPSHOT", "STATE_SNAPSHOT", "RUN_FINISHED"]
    assert one.interrupts == [ann, cyd]
    two = await client.run(resume=[{"interruptId": cyd["id"], **deny("not him")}])
    assert two.interrupts == [ann]
    assert emails(server) == []
    assert (await client.again().connect()).interrupts == [ann]
    done = await client.run(resume=[{"interruptId": ann["id"], **approve()}])
    assert done.text == "executed, executed, executed, denied"
    assert emails(server) == ["ann", "ben"]
    assert len(done.results) == 3
    item = await interrupt_of(server, ben["id"])
    assert (item.status, item.held, item.decided_by) == ("resolved", None, "local")


async def test_a_kept_answer_may_be_sent_again_and_changed(server: Server, tools: Kit) -> None:
    """Design 2: held until the set is complete. The same again stores nothing."""
    client = client_of(server, tools.mailing, partial="accumulate")
    first = await client.say()
    ann, ben, cyd = (i["id"] for i in first.interrupts)
    await client.run(resume=[{"interruptId": ann, **approve()}])
    stored = server.dump()
    again = await client.run(resume=[{"interruptId": ann, **approve()}])
    assert [i["id"] for i in again.interrupts] == [ben, cyd]
    assert server.dump() == stored
    await client.run(resume=[{"interruptId": ann, **deny()}, {"interruptId": ben, **cancel()}])
    done = await client.run(resume=[{"interruptId": cyd, **cancel()}])
    assert done.text == "executed, denied, cancelled, cancelled"
    assert emails(server) == []


@requirement("RE-17")
async def test_one_bad_answer_keeps_none(server: Server, tools: Kit) -> None:
    """Whole or not at all, also for a part; so for a message that comes beside it (E6)."""
    client = client_of(server, tools.mailing, partial="accumulate")
    first = await client.say()
    ann, ben, _ = (i["id"] for i in first.interrupts)
    stored = server.dump()
    good = {"interruptId": ann, **approve()}
    for sent, code in (
        ([good, {"interruptId": ben, **answer({"approved": 1})}], "invalid_payload"),
        ([good, {"interruptId": "int_nobody", **approve()}], "unknown_interrupt"),
        ([good, {"interruptId": ann, **deny()}], "duplicate_entry"),
    ):
        assert (await client.again().run(client.body(resume=sent))).outcome == code
    tab = client.again()
    tab.user("and this")
    assert (await tab.run(resume=[good])).outcome == "partial_resume"
    assert server.dump() == stored


@requirement("ID-07")
async def test_two_people_who_answer_at_once_complete_the_set_once(
    server: Server, tools: Kit
) -> None:
    """Whoever is second completes it: every answer is kept, the turn goes on once (Q1)."""
    client = client_of(server, tools.mailing, partial="accumulate")
    first = await client.say()
    entries = [{"interruptId": i["id"], **approve()} for i in first.interrupts]
    runs = await asyncio.gather(*(client.again().run(resume=[entry]) for entry in entries))
    assert sorted(run.outcome for run in runs) == ["interrupt", "interrupt", "success"]
    assert sorted(emails(server)) == ["ann", "ben", "cyd"]


@requirement("EX-04")
async def test_a_kept_answer_came_in_time_however_long_the_rest_takes(server: Server) -> None:
    """An expiry that passes meanwhile does not touch it; the others expire and the turn goes on."""

    async def agent(turn: Turn) -> None:
        got = await turn.interrupt_all(
            [Question(reason="confirmation", message=text, expires_in=60) for text in "ab"]
        )
        server.effects.append([(one.status, one.value, one.by) for one in got])

    client = client_of(server, agent, partial="accumulate")
    first = await client.say()
    await client.run(
        resume=[{"interruptId": first.interrupts[0]["id"], **answer({"approved": True})}]
    )
    await past(server, client, 60)
    assert server.effects == [[("resolved", True, "local"), ("expired", None, None)]]


async def test_a_turn_whose_answers_are_all_kept_goes_on_by_itself(
    server: Server, tools: Kit
) -> None:
    """The server that kept the last of them died before it went on."""
    client = client_of(server, tools.mailing, partial="accumulate")
    first = await client.say()
    ids = [i["id"] for i in first.interrupts]
    await client.run(resume=[{"interruptId": one, **approve()} for one in ids[:2]])
    view = await server.store.load("default", client.thread)
    assert view is not None
    kept = next(i for i in view.interrupts if i.id == ids[0])
    last = next(i for i in view.interrupts if i.id == ids[2])
    changed = [type(last)(**{**{f: getattr(last, f) for f in last.__slots__}, "held": kept.held})]
    await server.store.update_idle(
        Update(
            scope="default",
            thread_id=client.thread,
            revision=view.thread.revision,
            now=server.clock.now(),
            interrupts=tuple(changed),
        )
    )

    async def ran() -> bool:
        await server.clock.advance(1)
        return len(emails(server)) == 3

    await eventually(ran)
    await taken_over(server, client)
    assert (await client.again().connect()).outcome == "success"


# unknown_entries


@requirement("TR-01", "OC-06")
@pytest.mark.parametrize("value", ["refuse", "ignore"])
async def test_ids_never_asked_are_refused_or_dropped_with_a_warning(
    server: Server, tools: Kit, value: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """TR-01: beside full coverage; alone they are refused either way (D1)."""
    client = client_of(server, tools.mailing, unknown_entries=value)
    await client.say()
    foreign = {"interruptId": "int_nobody", **approve()}
    assert (await client.again().run(client.body(resume=[foreign]))).outcome == "unknown_interrupt"
    entries = client.entries(approve(), approve(), approve())
    with caplog.at_level(logging.WARNING):
        run = await client.again().run(client.body(resume=[*entries, foreign]))
    if value == "refuse":
        assert run.outcome == "unknown_interrupt"
        assert emails(server) == []
    else:
        assert run.outcome == "success"
        assert emails(server) == ["ann", "ben", "cyd"]
        assert "'int_nobody'" in caplog.text
        (warning,) = run.events[0]["metadata"]["sayso"]["warnings"]
        assert "'int_nobody'" in warning
        assert "metadata" not in (await client.again().connect()).events[0]
