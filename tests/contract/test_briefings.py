"""A gated call says why: title, reason, impact, and why a person is asked (design 3)."""

from collections.abc import Callable
from typing import Annotated, Any

import pytest
from pydantic import Field

from sayso import Breakpoints, Sayso, ToolCall, ToolFailed, Turn, approval
from sayso.base.errors import DeclarationError
from tests.contract.optional import client_of
from tests.contract.server import Server, answer, approve

FILES = [f"/data/archive/2019/old-file-number-{number:05d}.bin" for number in range(847)]
GUIDELINES = approval.by_effect(scale_over=100, beyond=lambda call: "beyond" in call.request)


def shows(interrupt: dict[str, Any]) -> dict[str, Any]:
    """What of a question is ours."""
    told: dict[str, Any] = interrupt["metadata"]["sayso"]
    return told


async def asked(server: Server, policy: approval.Policy, text: str = "go", **options: Any) -> Any:
    """The question about a call of a tool with this policy, which takes files."""

    @server.app.tool(approval=policy, **options)
    async def delete_files(files: list[str]) -> str:
        server.effects.append(len(files))
        return f"{len(files)} deleted"

    async def agent(turn: Turn) -> None:
        await turn.call(delete_files, files=FILES)

    (interrupt,) = (await server.client(agent).say(text)).interrupts
    return interrupt


def fails(files: list[str]) -> bool:
    """A rule that cannot be read."""
    raise KeyError(len(files))


@pytest.mark.parametrize(
    ("policy", "options", "text", "because"),
    [
        (
            GUIDELINES,
            {"effect": "irreversible", "scale": "files"},
            "go",
            "It cannot be undone. It touches 847 files.",
        ),
        (
            GUIDELINES,
            {"effect": "irreversible"},
            "go",
            "It cannot be undone. It does not say how many things it touches.",
        ),
        (
            GUIDELINES,
            {"effect": "irreversible", "scale": lambda files: len(files) / 0},
            "go",
            "It cannot be undone. How many things it touches cannot be told.",
        ),
        (
            GUIDELINES,
            {"permission": "files:delete", "scale": lambda files: 2},
            "go",
            "It touches 2 things. local lacks the permission files:delete.",
        ),
        (GUIDELINES, {}, "go beyond", "It goes beyond what was asked for."),
        (approval.always, {}, "go", "Every call of this tool is asked about."),
        (
            approval.always(remember=True),
            {"effect": "irreversible"},
            "go",
            "Every call of this tool is asked about. It cannot be undone.",
        ),
        (approval.when(lambda files: True), {}, "go", "A rule asks about this call."),
        (
            approval.when(lambda files: True, name="many files"),
            {},
            "go",
            "Rule 'many files' asks about this call.",
        ),
        (
            approval.when(fails),
            {},
            "go",
            "Rule 'when:fails' failed, so a person decides.",
        ),
        (approval.Policy(ask=["delete_*"]), {}, "go", "Calls of delete_* are asked about."),
        (approval.Policy(), {}, "go", "No rule lets this call run by itself."),
        (
            approval.rule(lambda call: None, name="judge"),
            {},
            "go",
            "Rule 'judge' asks about this call.",
        ),
    ],
)
async def test_each_policy_says_why_it_asks(
    server: Server, policy: approval.Policy, options: dict[str, Any], text: str, because: str
) -> None:
    """A sentence of ours for each rule, with what the call declares of itself."""
    interrupt = await asked(server, policy, text, **options)
    assert shows(interrupt)["because"] == because
    head = "Approve delete_files(files=[847 values])?"
    assert interrupt["message"].split("\n")[0] == head
    assert len(interrupt["message"]) <= 600


async def test_what_is_known_of_a_call_is_in_its_message_and_on_the_wire(server: Server) -> None:
    """Eight hundred names do not fill a message, which says how many it leaves out."""
    interrupt = await asked(
        server,
        GUIDELINES,
        effect="irreversible",
        scale="files",
        title="Delete {files} of 2019",
        why="The disk is full.",
        impact=lambda files: {"files": len(files), "first": files[0]},
    )
    told = shows(interrupt)
    assert interrupt["message"] == (
        "Delete 847 values of 2019\n"
        "Approve delete_files(files=[847 values])?\n"
        "It cannot be undone. It touches 847 files.\n"
        "Why: The disk is full.\n"
        f"Impact: files: 847; first: {FILES[0]}"
    )
    assert (told["title"], told["why"]) == ("Delete 847 values of 2019", "The disk is full.")
    assert told["impact"] == {"files": 847, "first": FILES[0]}
    assert (told["scale"], told["scaleOf"], told["truncated"]) == (847, "files", True)
    assert told["arguments"] == {"files": FILES}


async def test_a_figure_keeps_its_name_whatever_that_is(server: Server) -> None:
    """`approved` and `action` of an impact are figures like any other, and no answer."""
    figures = {"approved": True, "action": "resend", "files": 847}
    interrupt = await asked(server, approval.always, impact=figures)
    assert interrupt["message"].endswith("\nImpact: approved: yes; action: resend; files: 847")
    assert shows(interrupt)["impact"] == figures


async def test_the_agent_says_why_it_makes_this_very_call(server: Server) -> None:
    """`ToolCall(why=)` goes before the tool's own, and is no part of what is called."""

    @server.app.tool(approval=approval.always(remember=True), why="Refunds are rare.")
    async def refund(order: str, why: str = "") -> str:
        return f"{order} {why}"

    def calling(reason: str | None) -> Callable[[Turn], Any]:
        async def agent(turn: Turn) -> None:
            call = ToolCall(tool=refund, args={"order": "A-17", "why": "own"}, why=reason)
            (done,) = await turn.call_all([call])
            await turn.say(str(done))

        return agent

    client = server.client(calling("The box arrived crushed."))
    (interrupt,) = (await client.say()).interrupts
    assert shows(interrupt)["why"] == "The box arrived crushed."
    assert shows(interrupt)["arguments"] == {"order": "A-17", "why": "own"}
    assert (await client.resume(approve(remember=True))).text == "A-17 own"
    other = server.client(calling("Another reason."))
    assert (await other.say()).text == "A-17 own"


@pytest.mark.parametrize("why", ["", "  \n", None])
async def test_an_empty_reason_is_none(server: Server, why: str | None) -> None:
    """Then the tool's own stands."""

    @server.app.tool(approval=approval.always, why="Refunds are rare.")
    async def refund(order: str) -> str:
        return order

    async def agent(turn: Turn) -> None:
        await turn.call_all([ToolCall(tool="refund", args={"order": "A-17"}, why=why)])

    (interrupt,) = (await server.client(agent).say()).interrupts
    assert shows(interrupt)["why"] == "Refunds are rare."


async def test_a_function_that_cannot_say_leaves_its_word_out(
    server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    """The card comes all the same; it gets a copy of the arguments, and the log says why."""

    def title(files: list[str]) -> str:
        files.clear()
        raise KeyError("nothing")

    interrupt = await asked(
        server,
        approval.always,
        title=title,
        why=lambda files: 3,
        impact=lambda files: {"files": len(files), "of": object()},
    )
    told = shows(interrupt)
    assert not {"title", "why", "impact"} & set(told)
    assert told["arguments"] == {"files": FILES}
    left = [record for record in caplog.records if "left out" in record.message]
    assert len(left) == 3


@pytest.mark.parametrize(
    ("word", "given", "said"),
    [
        ("title", "Delete {file}", "title= of tool 'delete_files' names file, but the tool takes"),
        ("why", "{files[0]}", "names arguments in braces and nothing more, not {files[0]}"),
        ("why", "{files.__class__}", "not {files.__class__}"),
        ("title", "{files!r:>9}", "not {files!r:>9}"),
        ("title", "{}", "not {}"),
        ("title", "{files", "write {{ and }} for braces themselves"),
        ("title", " ", "is an empty text"),
        ("title", 3, "is a text or a function of arguments, not 3"),
        ("why", {"files": 3}, "is a text or a function"),
        ("impact", {}, "figures are values by name"),
        ("impact", {"files": object()}, "has no JSON form"),
        ("impact", lambda wanted: "", "impact= of tool 'delete_files' names wanted"),
        ("title", lambda *files: "", "takes arguments by position"),
    ],
)
def test_words_that_cannot_be_said_are_refused_when_they_are_declared(
    word: str, given: Any, said: str
) -> None:
    """With the place, and what to write."""
    app = Sayso(store="memory:")
    with pytest.raises(DeclarationError) as refused:

        @app.tool(approval=approval.always, **{word: given})
        async def delete_files(files: list[str]) -> str:
            return ""

    assert said in str(refused.value)


def test_an_asynchronous_word_is_refused() -> None:
    """It answers at once."""

    async def title(files: list[str]) -> str:
        return ""

    with pytest.raises(DeclarationError, match="asynchronous"):

        @Sayso(store="memory:").tool(approval=approval.always, title=title)  # type: ignore[arg-type]  # wrong on purpose
        async def delete_files(files: list[str]) -> str:
            return ""


async def test_hidden_and_long_words_pass_for_nothing_else(server: Server) -> None:
    """In the message a word is one line in which nothing hides; everywhere it has an end."""

    @server.app.tool(
        approval=approval.always, title="Pay {to}", impact=lambda to: {"n" * 99: to * 99}
    )
    async def pay(to: str) -> str:
        return to

    why = "Fine\u202e.\nImpact: none\n" + "so it is. " * 9_999

    async def agent(turn: Turn) -> None:
        to = f"ann\u200b {'and so on ' * 99}"
        await turn.call_all([ToolCall(tool=pay, args={"to": to}, why=why)])

    (interrupt,) = (await server.client(agent).say()).interrupts
    told, lines = shows(interrupt), interrupt["message"].split("\n")
    assert len(interrupt["message"]) <= 600
    assert [line.split(" ")[0] for line in lines] == ["Pay", "Approve", "Why:", "Impact:"]
    assert lines[2].startswith(r"Why: Fine\u202e. Impact: none so it is.")
    assert lines[2].endswith("more characters)")
    assert r"ann\u200b" in lines[0]
    assert len(told["title"]) <= 80
    assert len(told["why"]) <= 2_000
    assert told["why"].endswith("more characters)")
    assert all(len(name) <= 40 and len(value) <= 200 for name, value in told["impact"].items())
    assert "\u202e" in told["why"]


async def test_a_secret_argument_is_in_no_text_about_the_call(server: Server) -> None:
    """Its owner and its approver see it where it is an argument; texts travel further."""

    @server.app.tool(approval=approval.always, title="Sign in as {user} with {password}")
    async def sign_in(
        user: str, password: Annotated[str, Field(json_schema_extra={"format": "password"})]
    ) -> str:
        return user

    async def agent(turn: Turn) -> None:
        await turn.call(sign_in, user="ann", password="hunter2-hunter2")  # noqa: S106 - a made up one

    (interrupt,) = (await server.client(agent).say()).interrupts
    assert shows(interrupt)["title"] == "Sign in as ann with (not shown)"
    assert "hunter2" not in interrupt["message"]


async def test_a_deploy_that_says_it_otherwise_leaves_the_question_as_it_was_put(
    server: Server,
) -> None:
    """Words are recorded when it is asked; new ones are no other call."""
    words = {"title": "Old title", "why": "Old reason"}

    @server.app.tool(approval=approval.always, title=lambda: words["title"])
    async def pay(amount: int) -> str:
        server.effects.append(amount)
        return "Paid."

    async def agent(turn: Turn) -> None:
        await turn.call_all([ToolCall(tool=pay, args={"amount": 3}, why=words["why"])])

    client = server.client(agent)
    await client.say()
    words |= {"title": "New title", "why": "New reason"}
    (shown,) = (await client.connect()).interrupts
    assert (shows(shown)["title"], shows(shown)["why"]) == ("Old title", "Old reason")
    assert (await client.resume(approve())).outcome == "success"
    assert server.effects == [3]


async def test_a_second_card_says_what_was_changed_since_it_was_said_why(server: Server) -> None:
    """The reason was given for what was proposed; the title is of what would run now."""

    @server.app.tool(
        approval=approval.all_of(
            approval.when(lambda amount: amount > 100, name="large"),
            approval.when(lambda amount: amount < 50, name="small"),
        ),
        editable=True,
        title="Refund {amount}",
    )
    async def refund(amount: float) -> str:
        return "Paid."

    async def agent(turn: Turn) -> None:
        call = ToolCall(tool=refund, args={"amount": 240}, why="240 is what it cost.")
        await turn.call_all([call])

    client = server.client(agent)
    (first,) = (await client.say()).interrupts
    assert (shows(first)["title"], "changes" in shows(first)) == ("Refund 240", False)
    (second,) = (await client.resume(approve(editedArgs={"amount": 20.5}))).interrupts
    told = shows(second)
    assert (told["title"], told["why"]) == ("Refund 20.5", "240 is what it cost.")
    assert told["changes"] == [{"path": "/amount", "from": 240.0, "to": 20.5}]
    assert told["because"] == "Rule 'small' asks about this call."


async def test_a_message_about_an_error_has_an_end_and_the_error_has_not(server: Server) -> None:
    """It says how much of it is left out; `error` has all, and the arguments are not hidden."""

    @server.app.tool(on_error="ask")
    async def delete(files: list[str]) -> str:
        raise ToolFailed("no such file; " * 99)

    async def agent(turn: Turn) -> None:
        await turn.call(delete, files=FILES)

    (card,) = (await server.client(agent).say()).interrupts
    begun = "delete(files=[847 values]) failed: no such file; "
    assert card["message"].startswith(begun)
    assert card["message"].endswith(" more characters). What now?")
    assert len(card["message"]) <= 600
    assert shows(card)["error"] == "no such file; " * 99
    assert shows(card)["arguments"] == {"files": FILES}


async def test_no_message_about_an_attempt_or_a_breakpoint_tells_a_secret(server: Server) -> None:
    """As little as the message that asks whether the call may run."""

    @server.app.tool(on_error="ask")
    async def sign_in(
        user: str, password: Annotated[str, Field(json_schema_extra={"format": "password"})]
    ) -> str:
        raise RuntimeError("closed")

    async def agent(turn: Turn) -> None:
        await turn.call(sign_in, user="ann", password="hunter2-hunter2")  # noqa: S106 - a made up one

    client = client_of(server, agent, breakpoints=Breakpoints(before="sign_in"))
    (breakpoint,) = (await client.say()).interrupts
    (failed,) = (await client.resume(answer({"action": "continue"}))).interrupts
    for card in (breakpoint, failed):
        assert 'sign_in(user="ann", password="(not shown)")' in card["message"]
