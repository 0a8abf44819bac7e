"""`ops`, the demo agent: each row of the demo is one plain async function over a `Turn`.

Read it as a tour: a free and a gated call, several at once, forms, confirmations that expire, a
tool of the page's own, agents inside agents, a pause inside a phase, slow steps, and what happens
when the server dies in the middle. A function starts again from its first line whenever its turn
continues; what it did before comes out of the journal.
"""

import re
from collections.abc import Awaitable, Callable
from typing import ClassVar, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field

from sayso import Answer, Call, Option, Sayso, ToolCall, Turn
from sayso.base import jsonvalue
from sayso.demo.tools import Ops


async def hello(turn: Turn, ops: Ops) -> None:
    """Only text."""
    await ops.say(turn, "Hello! I do things for your shop, and I ask before I do what matters.")
    await ops.say(turn, SUGGESTIONS)


async def order_and_refund(turn: Turn, ops: Ops) -> None:
    """A free call and a gated one in one batch: the free one runs before anybody is asked."""
    await ops.say(turn, "I look the order up and prepare its refund.")
    status, refunded = await turn.call_all(
        [
            ToolCall(ops.order_status, {"order_id": "A-17"}),
            ToolCall(ops.issue_refund, {"order_id": "A-17", "amount": 240.0}),
        ]
    )
    condition = status.value["condition"] if status.value else "not known"
    await ops.say(turn, f"Order A-17 arrived {condition}. {told(refunded)}")


async def slow_refund(turn: Turn, ops: Ops) -> None:
    """A gated call, then work that takes a while after the answer."""
    refunded = await turn.call(ops.issue_refund, order_id="A-17", amount=240.0)
    await ops.say(turn, told(refunded))
    if refunded.executed:
        await ops.say(turn, "Now I rebuild the balance sheet.")
        await ops.say(turn, await rebuild(turn, ops, "balance sheet"))


async def refund(turn: Turn, ops: Ops) -> None:
    """One gated call, whose arguments the reviewer may change."""
    await ops.say(turn, "Order A-17 arrived damaged, so I would pay all of it back.")
    await ops.say(turn, told(await turn.call(ops.issue_refund, order_id="A-17", amount=240.0)))


async def email(turn: Turn, ops: Ops) -> None:
    """Three gated calls at once, each decided on its own."""
    await ops.say(turn, "I have three mails ready. Have a look at each of them.")
    calls = [
        ToolCall(ops.send_email, {"to": to, "subject": subject, "body": body})
        for to, subject, body in (
            ("ada@example.com", "Your refund", "Dear Ada, 240.00 are on their way to you."),
            ("sam@example.com", "Damaged goods", "Sam, please check the parcels of line 4."),
            ("everyone@example.com", "Sale!", "All prices are 90 % off until midnight."),
        )
    ]
    for sent in await turn.call_all(calls):
        await ops.say(turn, f"{sent.args['to']}: {told(sent)}")


async def clean_up(turn: Turn, ops: Ops) -> None:
    """A decision that informs; the files are real, in the sandbox folder."""
    thread_id = turn.input.thread_id
    old = await turn.step.options(name="find old files", idempotent=True)(
        ops.find_old_files, thread_id
    )
    decision = await turn.decide(
        planned_action=f"Delete {old.count} files that are older than a year.",
        why=f"None of them has been opened since; the oldest is from {old.since}.",
        impact={"files": old.count, "temporary": old.temporary, "reversible": False},
        options=[
            Option("Delete all", "proceed_all", f"All {old.count} files are gone for good."),
            Option(
                "Delete only the temporary ones",
                "proceed_scoped",
                f"{old.temporary} files are gone for good, {old.count - old.temporary} stay.",
            ),
            Option(
                "Move them aside",
                "stage_only",
                f"All {old.count} files go to the staging folder, from where they can come back.",
            ),
            Option("Leave them", "cancel", "Nothing changes."),
        ],
    )
    if decision.action is None or decision.action == "cancel":
        await ops.say(turn, f"All {old.count} files stay where they are.")
        return
    done = await turn.step.options(name="clean up", verify=ops.happened)(
        ops.clean_up, thread_id, decision.action
    )
    await ops.say(turn, done)


class Filing(BaseModel):
    """A quarterly report."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid")
    quarter: Literal["Q1", "Q2", "Q3", "Q4"] = Field(title="Quarter")
    year: int = Field(title="Year", ge=2000)
    revenue: float = Field(title="Revenue", description="In euros.")


async def quarterly(turn: Turn, ops: Ops) -> None:
    """A form; the model makes its schema, validates what comes back and types the answer."""
    answer: Answer[Filing] = await turn.interrupt(
        "input_required", "Which figures shall I file?", schema=Filing
    )
    filing = answer.value
    if filing is None:
        await ops.say(turn, f"Nothing was filed: {why_not(answer)}")
        return
    done = await turn.step.options(name="file", verify=ops.happened)(
        ops.file_report, filing.quarter, filing.year, filing.revenue
    )
    await ops.say(turn, done)


class Go(BaseModel):
    """A yes or no, with a word about it."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid")
    approved: bool = Field(title="Go ahead")
    note: str | None = Field(default=None, title="Note")


async def deploy(turn: Turn, ops: Ops) -> None:
    """Two questions one after the other, each with a time limit."""
    notes = []
    for question in (
        "Build 2.4.1 passed its tests. Deploy it to production?",
        "It changes the orders table, which cannot be undone. Really deploy it?",
    ):
        answer: Answer[Go] = await turn.interrupt(
            "confirmation", question, schema=Go, expires_in=ops.expires_in
        )
        if answer.value is None or not answer.value.approved:
            await ops.say(turn, f"Not deployed: {why_not(answer)}")
            return
        notes.append(answer.value.note or "")
    build = await turn.step.options(name="deploy", verify=ops.happened)(ops.deploy, "2.4.1", notes)
    await ops.say(turn, build)


Slot = Literal["Monday 09:00", "Tuesday 14:00", "Thursday 11:00"]


class Meeting(BaseModel):
    """When to meet."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid")
    slot: Slot = Field(title="When")


async def meeting(turn: Turn, ops: Ops) -> None:
    """The page's own tool picks a time if the page offered one; otherwise a question does."""
    subject = "Damaged parcels of line 4"
    if any(tool["name"] == "schedule_meeting" for tool in turn.input.tools):
        await ops.say(turn, "Pick a time, and I put it into the calendar.")
        offer = {"subject": subject, "slots": list(get_args(Slot))}
        call = await turn.client_tool("schedule_meeting", offer)
        slot = choose_row(call.value) if call.executed else None
        reason = str(call) if slot is None and not call.executed else "no time was picked."
    else:
        answer: Answer[Meeting] = await turn.interrupt(
            "input_required", f"{subject}: when shall we meet?", schema=Meeting
        )
        slot = answer.value.slot if answer.value else None
        reason = why_not(answer)
    if slot is None:
        await ops.say(turn, f"No meeting: {reason}")
        return
    done = await turn.step.options(name="schedule", verify=ops.happened)(
        ops.schedule, subject, slot
    )
    await ops.say(turn, done)


def warehouse(ops: Ops, town: str) -> Callable[[Turn], Awaitable[str]]:
    """An inner agent: it has a turn of its own, and asks through the one that it is a part of."""

    async def agent(turn: Turn) -> str:
        await ops.say(turn, f"{town} has three of them left.")
        return f"{town}: {told(await turn.call(ops.reserve, town=town, parcels=3))}"

    return agent


async def nested(turn: Turn, ops: Ops) -> None:
    """Two inner agents of one name, side by side; each answer finds the one that asked."""
    await ops.say(turn, "I ask both of our warehouses.")
    towns = await turn.gather(
        turn.delegate(warehouse(ops, "Lyon"), name="warehouse", description="Lyon"),
        turn.delegate(warehouse(ops, "Turin"), name="warehouse", description="Turin"),
    )
    for report in towns:
        await ops.say(turn, report)


async def again(turn: Turn, ops: Ops) -> None:
    """An agent that does not take no for an answer, three times."""
    for _ in range(3):
        outcome = await turn.call(ops.restart_service, service="billing")
        await ops.say(turn, told(outcome))


async def nickname(turn: Turn, ops: Ops) -> None:
    """A question that takes text or nothing, and nothing is an answer too."""
    answer: Answer[str | None] = await turn.interrupt(
        "input_required",
        "What shall I call you? Leave it empty to stay nameless.",
        schema=str | None,
    )
    if not answer.resolved:
        await ops.say(turn, f"I do not know what to call you: {why_not(answer)}")
    elif answer.value is None:
        await ops.say(turn, "Nameless it is.")
    else:
        await ops.say(turn, f"Hello, {answer.value}!")


async def list_files(turn: Turn, ops: Ops) -> None:
    """A gated call that a person may allow for good: for no path, for one, or for any."""
    within = re.search(r"list files (?:in|of|under) (\S+)", turn.input.text, re.IGNORECASE)
    arguments = {} if within is None else {"path": within[1]}
    await ops.say(turn, told(await turn.call(ops.list_files, arguments)))


async def progress(turn: Turn, ops: Ops) -> None:
    """A pause inside a named phase, after text was streamed in it."""
    async with turn.phase("review"):
        await ops.say(turn, "I read the monthly report. Its figures add up.")
        answer: Answer[bool] = await turn.interrupt("confirmation", "Publish the monthly report?")
        if answer.value:
            done = await turn.step.options(name="publish", verify=ops.happened)(
                ops.publish, "monthly"
            )
        else:
            done = f"Not published: {why_not(answer)}"
    await ops.say(turn, done)


async def slow(turn: Turn, ops: Ops) -> None:
    """Work that takes a while, with text before and after."""
    await ops.say(turn, "I rebuild the search index. That takes a moment.")
    await ops.say(turn, await rebuild(turn, ops, "search index"))


async def crash(turn: Turn, ops: Ops) -> None:
    """The server dies between doing something and noting it. Nobody can know, so a person is asked.

    `run_again` charges a second time, `skip` continues with the result given (or none), and `stop`
    ends the turn without coming back here.
    """
    await ops.say(turn, "I charge the card, and my server will die before it can note that.")
    receipt = await turn.step.options(name="charge")(ops.charge, "A-17", 240.0)
    await ops.say(turn, receipt or "I continue as if the card had been charged.")


async def other(turn: Turn, ops: Ops) -> None:
    """Anything else."""
    await ops.say(turn, f"I did not understand that. {SUGGESTIONS}")


Row = Callable[[Turn, Ops], Awaitable[None]]

ROWS: tuple[tuple[tuple[str, ...], Row], ...] = (
    (("hello",), hello),
    (("order status", "refund"), order_and_refund),
    (("slow refund",), slow_refund),
    (("refund",), refund),
    (("email",), email),
    (("clean up",), clean_up),
    (("quarterly",), quarterly),
    (("deploy",), deploy),
    (("meeting",), meeting),
    (("nested",), nested),
    (("again",), again),
    (("nickname",), nickname),
    (("list files",), list_files),
    (("progress",), progress),
    (("slow",), slow),
    (("crash",), crash),
)
"""The words that a message must contain, and what happens then; the first row that fits."""

SUGGESTIONS = (
    "Try: refund, order status and refund, slow refund, email, clean up, quarterly, deploy, "
    "meeting, nested, again, nickname, list files, progress, slow, crash."
)


def declare(app: Sayso, ops: Ops) -> None:
    """Register the agent: `POST /agents/ops`."""

    @app.agent(
        "ops",
        description="A shop's assistant that asks before it does what matters.",
        run_breakpoints="allow",
    )
    async def agent(turn: Turn) -> None:
        await row_for(turn.input.text)(turn, ops)


def row_for(text: str) -> Row:
    """Choose what a message makes the agent do."""
    said = " ".join(text.lower().split())
    return next((row for words, row in ROWS if all(word in said for word in words)), other)


async def rebuild(turn: Turn, ops: Ops, what: str) -> str:
    """The slow step."""
    done: str = await turn.step.options(name="rebuild", verify=ops.happened)(ops.rebuild, what)
    return done


def told(call: Call[str]) -> str:
    """The outcome of a gated call, in words for the person who asked."""
    if call.executed:
        changed = " The reviewer changed the arguments." if call.edited else ""
        return f"{call.value}{changed}"
    if call.denied:
        return f"Not done: it was denied{f' ({call.reason})' if call.reason else ''}."
    if call.failed:
        return f"It failed: {call.reason}."
    return f"Not done: {'the question was withdrawn' if call.cancelled else 'time ran out'}."


def choose_row(result: str | None) -> str | None:
    """The time that the page's tool says: as text, or as the `slot` of a JSON object."""
    try:
        said = jsonvalue.decode((result or "null").encode())
    except ValueError:
        return result
    if isinstance(said, dict):
        said = said.get("slot")
    return said if isinstance(said, str) and said else None


def why_not(
    answer: Answer[Go] | Answer[Filing] | Answer[Meeting] | Answer[bool] | Answer[str | None],
) -> str:
    """The reason why an answer is not a yes."""
    if answer.cancelled:
        return "the question was withdrawn."
    if answer.expired:
        return "nobody answered in time."
    note = answer.value.note if isinstance(answer.value, Go) else None
    return f"you said no ({note})." if note else "you said no."
