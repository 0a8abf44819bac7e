"""A decision that permits a call is the approval of exactly that call, once (design 3)."""

from typing import Any

import pytest

from sayso import FallbackAnswer, Option, ToolCall, Turn, approval
from tests.contract.optional import past
from tests.contract.rest import get
from tests.contract.server import Client, Server, answer, approve, deny
from tests.contract.test_approvers import company, rest, says  # noqa: F401 - a fixture
from tests.contract.test_consent import asked
from tests.contract.test_forks import forked

FILES = [f"old-{number}.bin" for number in range(847)]
ALL = answer({"action": "all"})


def deleting(
    server: Server,
    policy: approval.Policy = approval.by_effect(scale_over=100),  # noqa: B008 - it is immutable
    *,
    files: list[str] | None = None,
    calls: int = 1,
    pause: bool = False,
    terms: dict[str, Any] | None = None,
    **options: Any,
) -> Client:
    """A client of an agent that decides about 847 files, then deletes some."""

    @server.app.tool(approval=policy, effect="irreversible", scale="files", **options)
    async def delete_files(files: list[str], folder: str = "tmp") -> str:
        server.effects.append((len(files), folder))
        return f"{len(files)} deleted"

    async def agent(turn: Turn) -> None:
        made = await turn.decide(
            planned_action="Clean up",
            why="The disk is full",
            options=[
                Option(
                    "Delete all",
                    "all",
                    "Gone for good.",
                    permits=ToolCall("delete_files", {"files": FILES}),
                ),
                Option("Nothing", "none"),
            ],
            **(terms or {}),
        )
        if pause:
            await turn.interrupt("confirmation", "Now?")
        wanted = ToolCall(delete_files, {"files": files or FILES})
        for done in await turn.call_all([wanted] * calls):
            await turn.say(f"{made.action} {done.status} by {done.by}")

    return server.client(agent)


async def test_who_decides_has_approved_exactly_that_call(server: Server) -> None:
    """One card, one effect; the option shows what it runs, and the row of it names the decision."""
    client = deleting(server)
    (decision,) = (await client.say()).interrupts
    told = decision["metadata"]["sayso"]["permits"]["all"]
    assert (told["tool"], told["arguments"]) == ("delete_files", {"files": FILES, "folder": "tmp"})
    (everything, nothing) = decision["responseSchema"]["properties"]["action"]["oneOf"]
    assert everything["description"] == (
        'Gone for good. Runs delete_files(files=[847 values], folder="tmp"). '
        "It cannot be undone. It touches 847 files."
    )
    assert "description" not in nothing
    run = await client.resume(ALL)
    assert (run.outcome, run.text) == ("success", "all executed by local")
    assert server.effects == [(847, "tmp")]
    rows = (await get(server, f"/audit?thread={client.thread}"))["items"]
    (ran,) = [row["content"] for row in rows if row["kind"] == "executed"]
    assert (ran["decision"], ran["by"]) == (decision["id"], "local")


@pytest.mark.parametrize("chosen", ["all", "none"])
async def test_another_call_asks(server: Server, chosen: str) -> None:
    """With another argument, and after another choice."""
    client = deleting(server, files=FILES[:500] if chosen == "all" else None)
    await client.say()
    run = await client.resume(answer({"action": chosen}))
    (card,) = run.interrupts
    assert (card["reason"], server.effects) == ("tool_call", [])
    assert (await client.resume(approve())).outcome == "success"


async def test_it_is_permitted_once(server: Server) -> None:
    """Of two equal calls, also in one batch, the second asks."""
    client = deleting(server, calls=2)
    await client.say()
    (card,) = (await client.resume(ALL)).interrupts
    assert (card["reason"], server.effects) == ("tool_call", [(847, "tmp")])
    await client.resume(deny())
    assert server.effects == [(847, "tmp")]


async def test_a_rule_that_denies_is_not_overruled(server: Server) -> None:
    """Deny beats every yes."""
    client = deleting(server, approval.deny(lambda files: len(files) > 100))
    await client.say()
    assert (await client.resume(ALL)).text == "all denied by None"
    assert server.effects == []


async def test_what_nobody_has_chosen_permits_nothing(server: Server) -> None:
    """An answer that is given when the time is over is nobody's yes."""
    terms = {"expires_in": 60, "on_expire": FallbackAnswer({"action": "all"})}
    client = deleting(server, terms=terms)
    await client.say()
    loaded = await past(server, client, 60)
    (card,) = loaded.model.pending
    assert (card["reason"], server.effects) == ("tool_call", [])


async def test_a_copy_has_the_choice_and_not_the_permission(server: Server) -> None:
    """Each copy would run on a yes that was said once."""
    client = deleting(server, pause=True)
    await client.say()
    (now,) = (await client.resume(ALL)).interrupts
    copy = await forked(server, client, now["id"])
    (card,) = (await copy.resume(approve())).interrupts
    assert (card["reason"], server.effects) == ("tool_call", [])
    assert (await client.resume(approve())).outcome == "success"
    assert server.effects == [(847, "tmp")]


async def test_others_who_have_to_agree_are_asked(company: Server) -> None:  # noqa: F811
    """The choice stands for the owner's rule, and the lead's question says who has said yes."""
    both = approval.all_of(approval.always, approval.always(by="lead", name="lead"))
    client = deleting(company, both)
    client.headers["authorization"] = "Bearer ann"
    await client.say()
    (card,) = (await client.resume(ALL)).interrupts
    told = card["metadata"]["sayso"]
    assert (told["rule"], company.effects) == ("lead", [])
    assert [(one["rule"], one["by"]) for one in told["approved"]] == [("always", "ann")]
    assert (await says(company, "lea", card, approve())).status == 200
    assert await asked(company, client) is None
    assert company.effects == [(847, "tmp")]


async def test_it_stands_for_one_of_two_calls_that_others_decide_as_well(
    company: Server,  # noqa: F811
) -> None:
    """Both look up what was denied before they ask; the choice is used by who asks first."""
    both = approval.all_of(approval.always, approval.always(by="lead", name="lead"))
    client = deleting(company, both, calls=2)
    client.headers["authorization"] = "Bearer ann"
    await client.say()
    told = [card["metadata"]["sayso"] for card in (await client.resume(ALL)).interrupts]
    assert [(one["rule"], "approved" in one) for one in told] == [("lead", True), ("always", False)]


async def test_an_owner_who_has_the_role_has_decided_as_such(company: Server) -> None:  # noqa: F811
    """Whoever chose may answer the rule, unless it bars who asks for the thing."""
    client = deleting(company, approval.always(by="lead"))
    client.headers["authorization"] = "Bearer lea"
    await client.say()
    assert (await client.resume(ALL)).outcome == "success"
    assert company.effects == [(847, "tmp")]


@pytest.mark.parametrize("again", ["in a copy", "in an earlier copy", "by a message"])
async def test_a_choice_outvotes_no_denial_that_its_card_did_not_tell(
    company: Server,  # noqa: F811
    again: str,
) -> None:
    """Lea is a lead, and leo another: she is asked, and told of his no, as without a decision."""
    client = deleting(company, approval.always(by="lead"))
    client.headers["authorization"] = "Bearer lea"
    (decision,) = (await client.say()).interrupts
    path = f"/threads/{client.thread}/fork"
    made = await rest(company, "lea", "POST", path, {"interruptId": decision["id"]})
    (card,) = (await client.resume(answer({"action": "none"}))).interrupts
    assert (await says(company, "leo", card, deny("fraud"))).status == 200
    assert await asked(company, client) is None
    if again == "in a copy":
        made = await rest(company, "lea", "POST", path, {"interruptId": decision["id"]})
    if again != "by a message":
        client = client.again(thread=made.json["threadId"], headers=client.headers)
        await client.connect()
    else:
        client = client.again(thread=client.thread, headers=client.headers)
        await client.connect()
        await client.say("again")
    (card,) = (await client.resume(ALL)).interrupts
    (told,) = card["metadata"]["sayso"]["before"]
    assert (told["said"], told["by"], company.effects) == ("denied", "leo", [])
    await client.resume(approve())
    assert company.effects == [(847, "tmp")]


async def test_who_wants_it_does_not_approve_it_by_a_choice(company: Server) -> None:  # noqa: F811
    """`not_by="requester"` holds for decisions too."""
    client = deleting(company, approval.always(by="lead", not_by="requester"))
    client.headers["authorization"] = "Bearer lea"
    await client.say()
    (card,) = (await client.resume(ALL)).interrupts
    assert (card["reason"], company.effects) == ("tool_call", [])


@pytest.mark.parametrize(
    ("permits", "said"),
    [
        (ToolCall("delete", {}), "there is no tool 'delete'"),
        (ToolCall("delete_files", {"folder": "tmp"}), "Field required"),
        ("delete_files", "permits= of an option is a ToolCall"),
    ],
)
async def test_what_cannot_be_called_is_not_offered(
    server: Server, permits: Any, said: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Before anything is asked."""

    @server.app.tool(approval=approval.always)
    async def delete_files(files: list[str], folder: str = "tmp") -> str:
        return ""

    async def agent(turn: Turn) -> None:
        options = [Option("All", "all", permits=permits)]
        await turn.decide(planned_action="Clean up", why="full", options=options)

    run = await server.client(agent).say()
    assert run.outcome == "agent_error"
    assert said in caplog.text


async def test_a_clarification_permits_nothing(
    server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    """It runs nothing, and says where such an option belongs."""

    async def agent(turn: Turn) -> None:
        permits = ToolCall("delete_files", {})
        await turn.clarify("Which?", options=[Option("All", "all", permits=permits)])

    assert (await server.client(agent).say()).outcome == "agent_error"
    assert "permits= of an option is for turn.decide" in caplog.text
