"""Requests that real clients sent, on threads of ours: same bodies, with our ids put in.

See `tests/captured/README.md` for which client sent what.
"""

import copy
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from sayso import ToolCall, Turn, approval
from tests.contract.requirements import requirement
from tests.contract.server import Client, Server, approve
from tests.contract.wire import Run

Json = dict[str, Any]

FOLDER = Path(__file__).parents[1] / "captured"
FORM = {
    "type": "object",
    "properties": {
        "title": {"type": "string"},
        "severity": {"enum": ["low", "high"]},
        "customers": {"type": "integer", "minimum": 0},
        "outage": {"type": "boolean"},
    },
    "required": ["title", "severity"],
}
YES_OR_NO = {
    "type": "object",
    "properties": {"approved": {"type": "boolean"}},
    "required": ["approved"],
}

REFUNDED = [("refund_order", 1001, 49.9)]
DELETED: list[Any] = [("custom", {"approved": True})]
OUTCOMES: dict[str, tuple[str, list[Any]]] = {
    "agui-0.0.59-resume-fresh-client": ("success", REFUNDED),
    "agui-0.0.59-resume-legacy": ("success", DELETED),
    "agui-0.0.59-resume-multi": ("success", [("pay_invoice", "A-17", 120)]),
    "agui-0.0.59-resume-single": ("success", REFUNDED),
    "agui-1.0.0-resume-fresh-client": ("success", REFUNDED),
    "agui-1.0.0-resume-legacy": ("success", DELETED),
    "agui-1.0.0-resume-multi": ("success", [("pay_invoice", "A-17", 120)]),
    "agui-1.0.0-resume-single": ("success", REFUNDED),
    "copilotkit-extras-resume": ("success", REFUNDED),
    "copilotkit-resume-after-new-message": ("success", REFUNDED),
    "copilotkit-resume-cancel": ("success", []),
    "copilotkit-resume-custom-reason": ("success", DELETED),
    "copilotkit-resume-form": (
        "success",
        [
            (
                "ticket",
                {"title": "Login fails", "severity": "high", "customers": 12, "outage": True},
            )
        ],
    ),
    "copilotkit-resume-legacy": ("success", DELETED),
    "copilotkit-resume-multi": ("success", [("pay_invoice", "A-17", 120)]),
    "copilotkit-resume-no-payload": ("invalid_payload", []),
    "copilotkit-resume-second-step": ("success", [("announce", "#releases")]),
    "copilotkit-resume-single": ("success", REFUNDED),
    "copilotkit-resume-two-results-one-call": ("success", REFUNDED),
    "copilotkit-runtime-rest-resume-after-reload": ("success", REFUNDED),
    "copilotkit-runtime-rest-resume-cancel": ("success", []),
    "copilotkit-runtime-rest-resume-legacy-after-reload": ("success", DELETED),
    "copilotkit-runtime-rest-resume-multi": (
        "success",
        [("pay_invoice", "A-17", 120), ("pay_invoice", "C-42", 77)],
    ),
    "copilotkit-runtime-rest-resume-second-step": ("success", [("announce", "#releases")]),
    "copilotkit-runtime-rest-resume-with-blocked-text": ("success", REFUNDED),
    "copilotkit-runtime-rest-resume": ("success", REFUNDED),
}
OUTCOMES["copilotkit-runtime-rest-resume-form"] = OUTCOMES["copilotkit-resume-form"]


def captured(name: str) -> Json:
    """A body as it was sent."""
    body: Json = json.loads((FOLDER / f"{name}.json").read_text("utf-8"))
    return body


class Desk:
    """An agent that does what the captured conversations are about."""

    def __init__(self, server: Server) -> None:
        effects = self.effects = server.effects

        async def refund_order(order: int, amount: float) -> str:
            effects.append(("refund_order", order, amount))
            return "refunded"

        async def pay_invoice(invoice: str, amount: int) -> str:
            effects.append(("pay_invoice", invoice, amount))
            return "paid"

        async def announce(channel: str) -> str:
            effects.append(("announce", channel))
            return "announced"

        gated = server.app.tool(approval=approval.always)
        self.refund = gated(refund_order)
        self.pay = gated(pay_invoice)
        self.announce = gated(announce)

    async def __call__(self, turn: Turn) -> None:
        """Pick by the words of the newest message."""
        text = turn.input.text
        if text.startswith(("Refund", "quirk: no schema")):
            await turn.call(self.refund, order=1001, amount=49.9)
        elif text.startswith("Pay"):
            bills = {"A-17": 120, "B-23": 4800, "C-42": 77}
            await turn.call_all(
                [ToolCall(self.pay, {"invoice": i, "amount": a}) for i, a in bills.items()]
            )
        elif text.startswith("Open"):
            await turn.say("I need some details for the ticket. ")
            form = await turn.interrupt("input_required", "Details?", schema=FORM)
            self.effects.append(("ticket", form.value))
        elif text.startswith("Deploy"):
            await turn.call(self.announce, channel="#releases")
        elif text.startswith(("quirk: custom", "Delete")):
            asked = await turn.interrupt("desk:ask", "Really?", schema=YES_OR_NO)
            self.effects.append(("custom", asked.value))
        await turn.say(f"Done: {text}")


def transplanted(body: Json, client: Client, interrupts: list[Json]) -> Json:
    """A captured resume with the ids that our first run gave out, in their order."""
    sent = copy.deepcopy(body)
    sent["threadId"] = client.thread
    if sent["state"]:
        sent["state"] = client.model.state
    ours = [m for m in client.model.messages if m["role"] == "assistant"]
    calls: dict[str, str] = {}
    for theirs, own in zip(
        [m for m in sent["messages"] if m["role"] == "assistant"], ours, strict=False
    ):
        theirs["id"] = own["id"]
        for call, mine in zip(theirs.get("toolCalls", ()), own.get("toolCalls", ()), strict=True):
            calls[call["id"]] = call["id"] = mine["id"]
    for message in sent["messages"]:
        if message["role"] == "tool":
            message["toolCallId"] = calls.get(message["toolCallId"], message["toolCallId"])
    if "command" in sent["forwardedProps"]:
        (interrupt,) = interrupts
        sent["forwardedProps"]["command"]["interruptEvent"]["id"] = interrupt["id"]
        return sent
    for entry, interrupt in zip(sent.get("resume", ()), interrupts, strict=True):
        entry["interruptId"] = interrupt["id"]
    return sent


async def first_run(server: Server, name: str, query: str = "") -> tuple[Client, Run, Json]:
    """The run that a captured resume answers, on a thread of ours."""
    version = captured(name).get("protocolVersion")
    return await begun(name, server.client(desk_of(server), version=version), query)


def desk_of(server: Server) -> Callable[[Turn], Awaitable[None]]:
    """The agent of the captured conversations."""
    agent = Desk(server)

    async def desk(turn: Turn) -> None:
        await agent(turn)

    return desk


async def begun(name: str, client: Client, query: str = "") -> tuple[Client, Run, Json]:
    """The client with the run that a captured resume answers, and that resume."""
    body = captured(name)
    said = body["messages"][:1] or [{"id": "u", "role": "user", "content": "Refund order 1001"}]
    client.model.messages = copy.deepcopy(said)
    template = {key: value for key, value in body.items() if key != "resume"}
    if not name.startswith("copilotkit"):
        template["runId"] = "first"  # CopilotKit alone answers under the interrupted run's id
    template |= {"threadId": client.thread, "messages": said, "state": {}}
    template["forwardedProps"] = {
        key: value for key, value in body["forwardedProps"].items() if key != "command"
    }
    return client, await client.run(template, action=query), body


@requirement("TR-07", "TR-08", "LC-28", "LG-04", "LG-15")
@pytest.mark.parametrize("name", sorted(OUTCOMES))
async def test_a_captured_answer_has_the_outcome_that_its_client_meant(
    server: Server, name: str
) -> None:
    """Each tool once or not at all; one result per call; the same again is a replay."""
    client, first, body = await first_run(server, name)
    outcome, effects = OUTCOMES[name]
    sent = transplanted(body, client, first.interrupts)
    client.model.messages = copy.deepcopy(sent["messages"])
    stored = server.dump()
    run = await client.run(sent)
    assert run.outcome == outcome
    assert server.effects == effects
    if outcome != "success":
        assert server.dump() == stored
        assert (await client.again().connect()).interrupts == first.interrupts
        return
    shown = (await client.again().connect()).snapshot
    calls = [call["id"] for m in shown for call in m.get("toolCalls", ())]
    assert sorted(m["toolCallId"] for m in shown if m["role"] == "tool") == sorted(calls)
    assert [m["id"] for m in client.model.messages if m["role"] == "tool"] == [
        m["id"] for m in shown if m["role"] == "tool"
    ]
    again = await client.run({**sent, "runId": "once-more"})
    assert again.last["outcome"] == {"type": "success"}
    assert server.effects == effects


@pytest.mark.parametrize("name", [n for n in sorted(OUTCOMES) if OUTCOMES[n][0] != "success"])
async def test_after_a_refused_captured_answer_a_right_one_is_taken(
    server: Server, name: str
) -> None:
    """ER-07, TR-03: the thread is where it was."""
    client, first, body = await first_run(server, name)
    await client.run(transplanted(body, client, first.interrupts))
    assert (await client.resume(approve())).outcome == "success"
    assert len(server.effects) == 1


@requirement("LG-04", "LG-14")
@pytest.mark.parametrize("name", [n for n in sorted(OUTCOMES) if "legacy" in n])
async def test_a_captured_legacy_answer_fits_the_question_that_was_asked_by_event(
    server: Server, name: str
) -> None:
    """Asked as its client wants to be; the same body again has no second effect (ID-01)."""
    client, first, body = await first_run(server, name, "?interrupts=legacy")
    (asked,) = first.asked
    sent = transplanted(body, client, [json.loads(asked)])
    for _ in range(2):
        run = await client.again().run(sent, action="?interrupts=legacy")
        assert (run.outcome, run.asked) == ("success", [])
        assert server.effects == DELETED
    stale = copy.deepcopy(sent)
    stale["forwardedProps"]["command"]["interruptEvent"] = body["forwardedProps"]["command"][
        "interruptEvent"
    ]
    assert (await client.again().run(stale)).outcome == "unknown_interrupt"


async def test_a_message_typed_while_the_card_was_open_has_its_turn_after_the_answer(
    server: Server,
) -> None:
    """E5, CK: the text that the client held back comes with the resume."""
    client, first, body = await first_run(server, "copilotkit-resume-after-new-message")
    run = await client.run(transplanted(body, client, first.interrupts))
    assert run.text.split("\n") == ["Done: Refund order 1001", "Done: never mind"]


async def test_a_captured_second_turn_goes_on_where_the_first_ended(server: Server) -> None:
    """C12: messages of a finished turn, one new: it starts, and nothing runs again."""
    client, first, body = await first_run(server, "copilotkit-resume-single")
    await client.run(transplanted(body, client, first.interrupts))
    second = captured("copilotkit-second-turn")
    new = second["messages"][-1]
    sent = {**second, "threadId": client.thread, "messages": [*client.model.messages, new]}
    run = await client.run(sent)
    assert run.text == "Done: Thanks, and the weather?"
    assert server.effects == REFUNDED


async def test_forwarded_props_of_the_page_reach_the_agent(server: Server) -> None:
    """FC-10: as they were sent."""

    async def agent(turn: Turn) -> None:
        server.effects.append(turn.input.forwarded_props)

    client = server.client(agent)
    await client.run({**captured("copilotkit-extras-first"), "threadId": client.thread})
    assert server.effects == [{"plan": "pro"}]


@pytest.mark.parametrize("name", sorted(p.stem for p in FOLDER.glob("*connect*.json")))
async def test_a_captured_connect_shows_what_waits(server: Server, name: str) -> None:
    """A1: whatever the runtime asks for is shown as it stands."""
    client, first, _ = await first_run(server, "copilotkit-resume-single")
    body = {**captured(name), "threadId": client.thread}
    run = await client.again(version=None).run(body, action="/connect")
    assert run.interrupts == first.interrupts
