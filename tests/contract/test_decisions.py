"""Decisions that inform, and clarifications: what goes out, what comes back (design 3)."""

from typing import Any

import pytest
from pydantic import BaseModel, Field

from sayso import FallbackAnswer, Option, Turn, describe
from tests.contract.optional import past
from tests.contract.requirements import requirement
from tests.contract.server import Server, answer, cancel
from tests.contract.wire import undigested


class Scope(BaseModel):
    """What a scoped deletion takes."""

    older_than: int = Field(ge=1)
    folder: str = "tmp"


OPTIONS = [
    Option("Delete all", "all", "847 files are gone for good."),
    Option("Delete some", "some", "Only those that are old enough are gone.", Scope),
    Option("Nothing", "none"),
]


def deciding(server: Server, **more: Any) -> Any:
    """An agent that decides and notes what came of it."""

    async def agent(turn: Turn) -> str:
        made = await turn.decide(
            planned_action="Delete 847 files",
            why="nobody has opened them",
            impact={"files": 847, "reversible": False},
            options=OPTIONS,
            **more,
        )
        server.effects.append((made.status, made.action, made.params, made.note, made.by))
        return describe(made)

    return agent


@requirement("IN-04", "IN-06", "IN-08")
async def test_a_decision_says_what_why_and_which_ways_there_are(server: Server) -> None:
    """Design 3: reason `sayso:decision`, `action` one of the options, the rest in the metadata."""
    client = server.client(deciding(server, metadata={"shop": 1, "sayso": {"team": "ops"}}))
    (asked,) = (await client.say()).interrupts
    assert asked["reason"] == "sayso:decision"
    assert asked["message"] == (
        "Delete 847 files\nWhy: nobody has opened them\nImpact: files: 847; reversible: no"
    )
    schema = asked["responseSchema"]
    assert schema["properties"]["action"]["oneOf"] == [
        {"const": "all", "title": "Delete all", "description": "847 files are gone for good."},
        {
            "const": "some",
            "title": "Delete some",
            "description": "Only those that are old enough are gone.",
        },
        {"const": "none", "title": "Nothing"},
    ]
    assert (schema["required"], schema["additionalProperties"]) == (["action"], False)
    assert undigested(asked) == {
        "shop": 1,
        "sayso": {
            "team": "ops",
            "kind": "decision",
            "plannedAction": "Delete 847 files",
            "why": "nobody has opened them",
            "impact": {"files": 847, "reversible": False},
        },
    }


@requirement("CR-6", "IN-07")
@pytest.mark.parametrize(
    ("payload", "pointers"),
    [
        ({}, ["/action"]),
        ({"action": "everything"}, ["/action"]),
        ({"action": "ALL"}, ["/action"]),
        ({"action": "all", "params": {}}, ["/params"]),
        ({"action": "none", "params": None}, ["/params"]),
        ({"action": "some"}, ["/params"]),
        ({"action": "some", "params": {}}, ["/params/older_than"]),
        ({"action": "some", "params": {"older_than": 0}}, ["/params/older_than"]),
        ({"action": "all", "note": 7}, ["/note"]),
        ({"action": "all", "more": 7}, ["/more"]),
        ("all", [""]),
        (None, [""]),
    ],
)
async def test_only_an_option_as_it_was_offered_decides(
    server: Server, payload: Any, pointers: list[str]
) -> None:
    """Design 3, P4: an action that is none, params where none or others are meant: still open."""
    client = server.client(deciding(server))
    await client.say()
    run = await client.resume(answer(payload))
    assert run.outcome == "invalid_payload"
    problems = run.details["interrupts"][0]["problems"]
    assert [problem["pointer"] for problem in problems] == pointers
    assert server.effects == []
    assert (await client.resume(answer({"action": "none"}))).outcome == "success"


@pytest.mark.parametrize(
    ("entry", "made", "told"),
    [
        (
            answer({"action": "all", "note": "be quick"}),
            ("resolved", "all", None, "be quick", "local"),
            'Asked "Delete 847 files", local answered: Delete all (all); Note: be quick. '
            "That means: 847 files are gone for good.",
        ),
        (
            answer({"action": "some", "params": {"older_than": 9}}),
            ("resolved", "some", Scope(older_than=9), None, "local"),
            'Asked "Delete 847 files", local answered: Delete some (some); '
            'Details: {"older_than":9}. That means: Only those that are old enough are gone.',
        ),
        (
            answer({"action": "none"}),
            ("resolved", "none", None, None, "local"),
            'Asked "Delete 847 files", local answered: Nothing (none).',
        ),
        (
            cancel(),
            ("cancelled", None, None, None, "local"),
            'Asked "Delete 847 files", local withdrew the question without an answer. '
            "Nothing was decided.",
        ),
    ],
)
async def test_the_author_gets_the_choice_and_the_model_a_sentence(
    server: Server, entry: Any, made: Any, told: str
) -> None:
    """Design 3, B10: typed, with params of the option's own type; `describe` tells the truth."""
    client = server.client(deciding(server))
    await client.say()
    run = await client.resume(entry)
    assert server.effects == [made]
    assert run.last["result"] == told


async def test_a_decision_that_nobody_makes_in_time_is_none(server: Server) -> None:
    """R3: expired is no choice, and the model is told that nothing was decided."""
    client = server.client(deciding(server, expires_in=5.0))
    await client.say()
    await past(server, client, 7)
    assert server.effects == [("expired", None, None, None, None)]


async def test_a_choice_agreed_on_beforehand_counts_at_the_expiry(server: Server) -> None:
    """R4: `on_expire` takes an answer that the options allow, and no other."""
    rule = FallbackAnswer({"action": "none"})
    client = server.client(deciding(server, expires_in=5.0, on_expire=rule))
    await client.say()
    await past(server, client, 7)
    assert server.effects == [("resolved", "none", None, None, None)]
    wrong = server.client(deciding(server, on_expire=FallbackAnswer({"action": "else"})))
    assert (await wrong.say()).outcome == "agent_error"


@pytest.mark.parametrize(
    "options",
    [
        [],
        [Option("", "a")],
        [Option("A", " ")],
        [Option("A", "a"), Option("B", "a")],
        ["a"],
        [Option("A", "a", schema=Server)],
    ],
)
async def test_options_that_cannot_be_offered_ask_nothing(
    server: Server, options: list[Any]
) -> None:
    """Bad input: the author is told at once, and no question is left open."""

    async def agent(turn: Turn) -> None:
        await turn.decide(why="w", planned_action="p", options=options)

    client = server.client(agent)
    assert (await client.say()).outcome == "agent_error"
    assert client.model.pending == []


async def test_optional_params_may_be_left_out(server: Server) -> None:
    """What an option takes has its defaults, as a tool's arguments have theirs."""

    class Easy(BaseModel):
        days: int = 30

    async def agent(turn: Turn) -> None:
        made = []
        for kind in (Easy, int | None, {"type": "object"}):
            options = [Option("A", "a", schema=kind)]
            made.append((await turn.decide(why="w", planned_action="p", options=options)).params)
        server.effects += made

    client = server.client(agent)
    await client.say()
    for _ in range(3):
        await client.resume(answer({"action": "a"}))
    assert server.effects == [Easy(), None, {}]


@requirement("IN-06")
async def test_a_clarification_says_what_it_could_cover_and_how_far_it_reaches(
    server: Server,
) -> None:
    """Design 3: before work starts; scope and blast radius in the metadata, and in the message."""

    async def agent(turn: Turn) -> str:
        which = await turn.clarify(
            "Which database is meant?",
            scope="staging and production both fit",
            blast_radius={"tables": 3},
            options=[Option("Staging", "staging"), Option("Production", "production")],
        )
        name = await turn.clarify("What shall the backup be called?")
        server.effects += [which.action, name.value]
        return describe(name)

    client = server.client(agent)
    (asked,) = (await client.say()).interrupts
    assert asked["reason"] == "input_required"
    assert asked["message"] == (
        "Which database is meant?\nScope: staging and production both fit\nBlast radius: tables: 3"
    )
    assert undigested(asked)["sayso"] == {
        "kind": "clarification",
        "scope": "staging and production both fit",
        "blastRadius": {"tables": 3},
    }
    (named,) = (await client.resume(answer({"action": "staging"}))).interrupts
    assert named["responseSchema"] == {"type": "string"}
    assert undigested(named)["sayso"] == {"kind": "clarification"}
    run = await client.resume(answer("before-the-move"))
    assert server.effects == ["staging", "before-the-move"]
    assert run.last["result"] == (
        'Asked "What shall the backup be called?", local answered: before-the-move.'
    )


async def test_a_clarification_takes_options_or_a_type(server: Server) -> None:
    """Bad input: both at once say two different things."""

    async def agent(turn: Turn) -> None:
        await turn.clarify("?", options=OPTIONS, schema=int)  # type: ignore[call-overload]

    assert (await server.client(agent).say()).outcome == "agent_error"


async def test_any_answer_can_be_described(server: Server) -> None:
    """Design 3: forms by the titles of their fields, yes and no as such, secrets not at all."""

    class Login(BaseModel):
        user: str = Field(title="User")
        password: str = Field(json_schema_extra={"writeOnly": True})

    async def agent(turn: Turn) -> list[str]:
        login = await turn.interrupt("input_required", "Who are you?", schema=Login)
        sure = await turn.interrupt("confirmation", "Sure?")
        nothing = await turn.interrupt("shop:any", "Nickname?", schema=str | None)
        return [describe(login), describe(sure), describe(nothing)]

    client = server.client(agent)
    await client.say()
    await client.resume(answer({"user": "ann", "password": "hunter2"}))
    await client.resume(answer({"approved": False}))
    run = await client.resume(answer(None))
    assert run.last["result"] == [
        'Asked "Who are you?", local answered: User: ann; Password: (not shown).',
        'Asked "Sure?", local answered: no.',
        'Asked "Nickname?", local answered: nothing.',
    ]


async def test_what_is_planned_may_be_figures_and_an_option_keeps_the_author_s_data(
    server: Server,
) -> None:
    """As `impact` takes them; the data comes back with what was chosen, and is shown to nobody."""

    async def agent(turn: Turn) -> str:
        made = await turn.decide(
            planned_action={"action": "delete", "files": 2**53 + 1},
            why="nobody has opened them",
            options=[
                Option("All", "all", data={"paths": ["/a", "/b"], "by": object}),
                Option("Nothing", "none"),
            ],
        )
        server.effects.append(made.option and made.option.data)
        return describe(made)

    client = server.client(agent)
    (asked,) = (await client.say()).interrupts
    assert asked["message"].split("\n")[0] == "action: delete; files: 9007199254740993"
    told = asked["metadata"]["sayso"]
    assert told["plannedAction"] == {"action": "delete", "files": 2**53 + 1}
    assert told["exact"] == {"/metadata/sayso/plannedAction/files": "9007199254740993"}
    assert "/a" not in str(asked)
    run = await client.resume(answer({"action": "all"}))
    assert server.effects == [{"paths": ["/a", "/b"], "by": object}]
    assert run.last["result"].startswith('Asked "action: delete; files: 9007199254740993"')


async def test_what_is_planned_is_a_text_or_figures(server: Server) -> None:
    async def agent(turn: Turn) -> str:
        wrong: Any = ["delete"]
        with pytest.raises(TypeError, match="neither a text nor figures by name"):
            await turn.decide(planned_action=wrong, why="so", options=[Option("Go", "go")])
        return "nothing was asked"

    assert (await server.client(agent).say()).last["result"] == "nothing was asked"
