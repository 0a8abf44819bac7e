"""Tools of a JSON Schema: what fits them, what a person may edit and give, and how they run."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal

import pytest
from pydantic import BaseModel

from sayso import (
    ArgumentsMisfit,
    DeclarationError,
    DidNotHappen,
    Happened,
    NotRecordable,
    Sayso,
    SchemaViolation,
    Tool,
    ToolCall,
    Turn,
    approval,
    current_call,
)
from sayso.schemas import schema as schemas
from tests.turns.driver import Conversation, World

Json = dict[str, Any]
YES = {"approved": True}

PARTY = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
REFUND: Json = {
    "type": "object",
    "title": "RefundArguments",
    "properties": {
        "order": {"type": "string", "pattern": "^A-"},
        "amount": {"type": "number", "exclusiveMinimum": 0},
        "currency": {"enum": ["CHF", "EUR"], "default": "CHF"},
        "to": {"$ref": "#/$defs/party"},
        "via": {"oneOf": [{"type": "string"}, {"type": "integer"}]},
        "note": {"type": "string", "default": None},
    },
    "required": ["order", "amount"],
    "additionalProperties": False,
    "$defs": {"party": PARTY},
}
GIVEN: Json = {"order": "A-17", "amount": 240}
FULL: Json = {**GIVEN, "currency": "CHF"}


async def nothing(arguments: Json) -> Any:
    """A call that is never made."""
    raise AssertionError(arguments)


def refund_tool(call: Callable[..., Any] = nothing, **members: Any) -> Tool[..., Any]:
    return Tool.of("refund", parameters=REFUND, call=call, **members)


def even(arguments: Json) -> list[SchemaViolation]:
    """A rule that no schema says."""
    odd = arguments["amount"] % 2
    return [SchemaViolation("/amount", "must be even")] if odd else []


@pytest.mark.parametrize(
    ("given", "pointers"),
    [
        ({}, {"/order", "/amount"}),
        ({"order": "A-1", "amount": "240"}, {"/amount"}),
        ({"order": "A-1", "amount": True}, {"/amount"}),
        ({**GIVEN, "order": "B-1"}, {"/order"}),
        ({**GIVEN, "to": {"name": 3}}, {"/to/name"}),
        ({**GIVEN, "via": 1.5}, {"/via"}),
        ({**GIVEN, "more": 1}, {"/more"}),
        ({**GIVEN, "amount": 241}, {"/amount"}),
    ],
)
def test_what_does_not_fit_is_named_at_its_member(given: Json, pointers: set[str]) -> None:
    """Nothing is coerced; a reference, a choice and the author's own check count alike."""
    tool = refund_tool(check=even)
    assert {violation.pointer for violation in tool.argument_errors(given)} == pointers
    with pytest.raises(ArgumentsMisfit) as caught:
        tool.arguments(given)
    assert {violation.pointer for violation in caught.value.violations} == pointers
    assert caught.value.tool == "refund"


def test_arguments_that_fit_stay_what_they_are_and_get_defaults() -> None:
    """A default that does not fit its own schema, as generated ones have, is left out."""
    tool = refund_tool(check=even)
    given = {**GIVEN, "to": {"name": "Ann"}, "via": 3}
    written = tool.arguments(given)
    assert tool.decode_arguments(written) == {**given, "currency": "CHF"}
    assert tool.argument_errors(given) == ()
    assert tool.parameters["properties"].keys() == REFUND["properties"].keys()
    assert tool.decode_arguments(tool.arguments({**GIVEN, "currency": "EUR"}))["currency"] == "EUR"


def test_a_default_that_would_break_the_whole_is_left_out() -> None:
    """One of two, and the other is given."""
    either = {
        "properties": {"id": {"type": "integer", "default": 0}, "name": {"type": "string"}},
        "oneOf": [{"required": ["id"]}, {"required": ["name"]}],
    }
    tool = Tool.of("find", parameters=either, call=nothing)
    assert tool.arguments({"name": "Ann"}) == b'{"name":"Ann"}'
    with pytest.raises(ArgumentsMisfit):
        tool.arguments({})


def test_a_check_gets_a_copy_and_is_not_asked_about_what_does_not_fit() -> None:
    """It may count on the schema, and changes nothing."""
    seen: list[Json] = []

    def check(arguments: Json) -> list[SchemaViolation]:
        seen.append(dict(arguments))
        arguments["amount"] = 1
        return []

    tool = refund_tool(check=check)
    given = dict(GIVEN)
    assert tool.decode_arguments(tool.arguments(given)) == FULL
    assert tool.argument_errors(given) == ()
    with pytest.raises(ArgumentsMisfit):
        tool.arguments({})
    assert (given, seen) == (GIVEN, [FULL, FULL])


@pytest.mark.parametrize("value", [{1, 2}, b"x", SimpleNamespace(), float("nan"), 2**70])
def test_what_is_no_json_value_is_refused(value: Any) -> None:
    """The function would get another value than it was called with."""
    tool = Tool.of("any", parameters={}, call=nothing)
    with pytest.raises(NotRecordable):
        tool.arguments({"value": value})


def test_half_a_character_is_mended() -> None:
    """A model may have cut it."""
    tool = Tool.of("any", parameters={}, call=nothing)
    assert tool.arguments({"a": "\ud83d"}) == '{"a":"�"}'.encode()


def test_a_thousand_calls_build_one_validator(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is built where the tool is declared."""
    built: list[Any] = []
    checked = schemas._checked

    def counted(schema: Json) -> Any:
        built.append(schema)
        return checked(schema)

    monkeypatch.setattr(schemas, "_checked", counted)
    own = {"properties": {"n": {"type": "integer", "maximum": 123_454_321}}}
    tool = Tool.of("count", parameters=own, call=nothing)
    at_first = len(built)
    for n in range(1_000):
        tool.decode_arguments(tool.arguments({"n": n}))
        assert tool.argument_errors({"n": n}) == ()
    assert len(built) == at_first


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"parameters": {"type": "string"}}, "the JSON Schema of an object"),
        ({"parameters": {"properties": []}}, "the JSON Schema of an object"),
        ({"parameters": {"properties": {"a": {"type": "text"}}}}, "breaks the rules"),
        ({"parameters": {"properties": {"a": {"$ref": "https://x.example/s"}}}}, "outside itself"),
        ({"call": None}, "call= of tool 'refund' is a function"),
        ({"check": 3}, "check= of tool 'refund' is a function"),
        ({"from_person": 3}, "from_person= of tool 'refund' is a function"),
        ({"name": ""}, "has a name"),
        ({"part": True, "call": lambda turn, arguments: None}, "has to be an `async def`"),
        ({"approval": approval.when(lambda price: price)}, "names price"),
        ({"title": "Refund {price}"}, "price"),
        ({"result": 3}, "is no type"),
    ],
)
def test_what_cannot_work_is_refused_where_it_is_declared(members: Json, message: str) -> None:
    """With the tool and the member."""
    members = {"name": "refund", "parameters": REFUND, "call": nothing, **members}
    with pytest.raises(DeclarationError, match=message):
        Tool.of(**members)


def tools(world: World, app: Sayso) -> Any:
    async def refund(arguments: Json) -> str:
        world.effect(arguments)
        return f"refunded {arguments['amount']}"

    def look(arguments: Json) -> int:
        return len(arguments)

    async def tail(arguments: Json) -> AsyncIterator[str]:
        for number in range(arguments["lines"]):
            yield f"{number};"

    async def book(turn: Turn, arguments: Json) -> Any:
        answer = await turn.interrupt("confirmation", f"Book {arguments['town']}?")
        return {"booked": answer.value}

    made = SimpleNamespace(
        refund=refund_tool(
            refund,
            check=even,
            approval=approval.all_of(
                approval.deny(lambda amount: amount > 1_000, name="limit"),
                approval.when(lambda amount, note: amount > 100 or note),
            ),
            editable=True,
            title="Refund {amount} for {order} ({note})",
            result=str,
        ),
        look=Tool.of("look", parameters={"type": "object"}, call=look),
        tail=Tool.of("tail", parameters={"properties": {"lines": {}}}, call=tail),
        book=Tool.of("book", parameters={"properties": {"town": {}}}, call=book, part=True),
    )
    app.add_tools(*vars(made).values())
    return made


async def calling(turn: Turn, world: World) -> Any:
    done = await turn.call("refund", GIVEN)
    return [done.status, done.value, done.args]


async def test_edits_are_held_against_schema_check_and_rules(kind: str, tmp_path: Path) -> None:
    """A misfit is refused at its member and the question stays; what fits runs, once."""
    async with World.of(kind, tmp_path, calling, tools) as world:
        talk = Conversation(world)
        run = await talk.say()
        (item,) = run.interrupts
        assert item["metadata"]["sayso"]["arguments"] == FULL
        assert item["metadata"]["sayso"]["title"] == "Refund 240 for A-17 (none)"
        form = item["responseSchema"]["properties"]["editedArgs"]
        assert form["properties"]["currency"]["enum"] == ["CHF", "EUR"]
        await talk.restart()
        for edited, pointer in [
            ({**FULL, "amount": "5"}, "/editedArgs/amount"),
            ({**FULL, "amount": 5}, "/editedArgs/amount"),
            ({**FULL, "amount": 2_000}, "/editedArgs"),
            ({"amount": 4}, "/editedArgs/order"),
        ]:
            run = await talk.answer_all_with({**YES, "editedArgs": edited})
            assert run.outcome == "invalid_payload", run.last
            assert pointer in str(run.last)
            assert world.effects == []
        run = await talk.answer_all_with({**YES, "editedArgs": {"order": "A-18", "amount": 4}})
        changed = {"order": "A-18", "amount": 4, "currency": "CHF"}
        assert run.last["result"] == ["executed", "refunded 4", changed]
        assert world.effects == [changed]


async def test_misfits_of_a_model_are_told_before_anything_is_sent(
    kind: str, tmp_path: Path
) -> None:
    """It can be told what to mend, and try again."""

    async def agent(turn: Turn, world: World) -> Any:
        with pytest.raises(ArgumentsMisfit, match="/amount must be even"):
            await turn.call("refund", {**GIVEN, "amount": 3})
        with pytest.raises(ValueError, match="/order is required"):
            await turn.call("refund", {"amount": 4})
        with pytest.raises(TypeError, match="has a JSON Schema and no signature"):
            await turn.call(world.tools.refund, "A-17", 4)
        return (await turn.call(world.tools.refund, order="A-17", amount=4)).value

    async with World.of(kind, tmp_path, agent, tools) as world:
        run = await Conversation(world).say()
        assert run.last["result"] == "refunded 4"
        assert len(run.of("TOOL_CALL_START")) == 1


async def test_each_kind_runs_as_a_tool_of_a_function_does(kind: str, tmp_path: Path) -> None:
    """In a thread, as a stream, as a part of the turn that asks; each may be called instead."""

    async def agent(turn: Turn, world: World) -> Any:
        t = world.tools

        async def mine(arguments: Json) -> Any:
            return [current_call().name, arguments]

        done = await turn.call_all(
            [
                ToolCall(t.look, {"a": 1, "b": 2}),
                ToolCall(t.tail, {"lines": 2}),
                ToolCall(t.book, {"town": "Bern"}),
                ToolCall(t.look, {"c": 3}, call=mine),
            ]
        )
        return [call.value for call in done]

    async with World.of(kind, tmp_path, agent, tools) as world:
        talk = Conversation(world)
        await talk.say()
        assert talk.asked == ["Book Bern?"]
        await talk.restart()
        run = await talk.answer_all_with(YES)
        assert run.last["result"] == [2, "0;1;", {"booked": True}, ["look", {"c": 3}]]


class Envelope(BaseModel):
    """The result of a framework's tool."""

    kind: Literal["tool_return"] = "tool_return"
    result: str


def enveloping(world: World, app: Sayso) -> Any:
    async def pay(arguments: Json) -> Envelope:
        world.effect("paid")
        return Envelope(result="paid")

    def from_person(text: str) -> Envelope:
        if not text:
            raise ValueError("say what came of it")
        return Envelope(result=text)

    app.add_tools(Tool.of("pay", parameters={}, call=pay, result=Envelope, from_person=from_person))


async def test_a_person_gives_a_plain_result_that_becomes_the_tool_s_own(
    kind: str, tmp_path: Path
) -> None:
    """Asked for a text, and held against it, also by a server that has just begun."""

    async def agent(turn: Turn, world: World) -> Any:
        done = await turn.call("pay", {})
        assert isinstance(done.value, Envelope)
        return done.value

    async with World.of(kind, tmp_path, agent, enveloping) as world:
        talk = Conversation(world)
        window = world.process.window
        window.fail(
            "commit",
            match=lambda commit: any(entry.status == "done" for entry in commit.entries),
            hook=window.disconnect,
        )
        await talk.say()
        run = await talk.recover()
        (item,) = run.interrupts
        assert item["responseSchema"]["properties"]["result"]["type"] == "string"
        await talk.restart()
        for result, said in ((3, "string"), ("", "say what came of it")):
            run = await talk.answer_all_with({"action": "skip", "result": result})
            assert run.outcome == "invalid_payload"
            assert said in str(run.last)
        run = await talk.answer_all_with({"action": "skip", "result": "seen"})
        assert run.last["result"] == {"kind": "tool_return", "result": "seen"}
        assert world.effects == ["paid"]
        assert (await talk.connect()).outcome == "success"


@pytest.mark.parametrize("word", [Happened(Envelope(result="looked up")), DidNotHappen()])
async def test_a_verify_hook_speaks_in_results_of_the_tool(
    kind: str, tmp_path: Path, word: Happened | DidNotHappen
) -> None:
    """`from_person` is for people alone."""

    def declare(world: World, app: Sayso) -> Any:
        async def pay(arguments: Json) -> Envelope:
            world.effect("paid")
            return Envelope(result="paid")

        async def verify(key: str) -> Happened | DidNotHappen:
            return word

        app.add_tools(
            Tool.of(
                "pay",
                parameters={},
                call=pay,
                result=Envelope,
                from_person=lambda text: Envelope(result=text),
                verify=verify,
            )
        )

    async def agent(turn: Turn, world: World) -> Any:
        done = await turn.call("pay", {})
        assert done.value is not None
        await turn.say(done.value.result)

    async with World.of(kind, tmp_path, agent, declare) as world:
        talk = Conversation(world)
        window = world.process.window
        window.fail(
            "commit",
            match=lambda commit: any(entry.status == "done" for entry in commit.entries),
            hook=window.disconnect,
        )
        await talk.say()
        await talk.recover()
        found = isinstance(word, Happened)
        assert talk.texts == ["looked up" if found else "paid"]
        assert world.effects == ["paid"] * (1 if found else 2)


async def test_a_schema_that_a_deploy_changes_ends_no_turn_that_was_answered(
    kind: str, tmp_path: Path
) -> None:
    """Edited arguments that do not fit any more are a mismatch, and the question stays open."""

    def declared(world: World, app: Sayso, amount: str) -> None:
        async def pay(arguments: Json) -> str:
            return str(world.effect(arguments["amount"]))

        parameters = {"properties": {"amount": {"type": amount}}}
        app.add_tools(
            Tool.of("pay", parameters=parameters, call=pay, approval=approval.always, editable=True)
        )

    async def agent(turn: Turn, world: World) -> Any:
        done = await turn.call("pay", {"amount": 5})
        return done.status

    def declare(amount: str) -> Callable[[Sayso], None]:
        def made(app: Sayso) -> None:
            declared(world, app, amount)
            world.register(app, agent)

        return made

    world: World = World(kind, tmp_path, lambda app: declare("number")(app))
    async with world:
        talk = Conversation(world)
        await talk.say()
        await talk.restart(declare("integer"))
        run = await talk.answer_all_with({**YES, "editedArgs": {"amount": 4.5}})
        assert run.outcome == "invalid_payload"
        run = await talk.answer_all_with({**YES, "editedArgs": {"amount": 4}})
        assert (run.outcome, world.effects) == ("success", [4])
