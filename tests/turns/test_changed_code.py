"""Every kind of waiting turn, under every way in which its code may change and change back.

Whatever new code makes of an answer: what was approved runs once, no answer is lost, and nobody is
told something untrue. The code that began a turn finishes it.
"""

from dataclasses import dataclass, field
from inspect import Parameter, Signature
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field, create_model

from sayso import Breakpoints, Option, Principal, Question, Sayso, ServerOptions, Turn, approval
from sayso.base.errors import Problem
from sayso.protocol.runinput import ResumeEntry
from sayso.testing import Conversation, Refused

LEADS = tuple(Principal(subject=name, roles=("lead",)) for name in ("lea", "leo"))
YES = {"approved": True}
OFFERED = {"name": "pick", "description": "", "parameters": {"type": "object"}}


@dataclass(kw_only=True)
class Code:
    """One version of the code: what it declares and asks for. The defaults begin every turn."""

    kind: str
    parameters: dict[str, Any] = field(default_factory=lambda: {"x": (int, ...)})
    given: dict[str, Any] = field(default_factory=lambda: {"x": 5})
    tool: bool = True
    agent: bool = True
    inner: bool = True
    model: Any = None
    options: tuple[str, ...] = ("all", "some")
    step_type: Any = int
    reordered: bool = False
    catches: bool = False
    """The agent takes every error of what it asks, and goes on."""

    def app(self) -> Sayso:
        """The app of this version."""
        app = Sayso(
            store="memory:", default_approval=approval.never, server=ServerOptions(console=False)
        )
        if self.tool:
            self._declare_tool(app)

        async def number() -> Any:
            return 1 if self.kind != "unsure step" or self.step_type is int else [1]

        number.__annotations__["return"] = self.step_type
        breakpoints = Breakpoints(before=["pay"] if self.kind == "breakpoint" else [])

        async def waits(turn: Turn) -> Any:
            if not self.catches:
                return await self.ask(turn, number)
            try:
                return await self.ask(turn, number)
            except Exception as error:
                return type(error).__name__

        async def agent(turn: Turn) -> str:
            if self.reordered:
                came = await waits(turn)
                await turn.step(first)
            else:
                await turn.step(first)
                came = await waits(turn)
            await turn.step(last)
            return str(came)

        async def inner(turn: Turn) -> str:
            return str(await turn.call("pay", self.given))

        app.agent("agent" if self.agent else "another", breakpoints=breakpoints)(agent)
        if self.inner:
            app.agent("inner")(inner)
        return app

    def _declare_tool(self, app: Sayso) -> None:
        policy = {
            "votes": approval.always(by="lead", approvals=2),
            "breakpoint": approval.never,
            "unsure tool": approval.never,
            "failed": approval.never,
        }.get(self.kind, approval.always)
        failing = [self.kind == "failed"]

        async def pay(**arguments: Any) -> str:
            if failing and failing.pop() and not _tried:
                _tried.append("pay")
                raise ConnectionError("the bank does not answer")
            return "paid"

        pay.__signature__ = _signature(self.parameters)  # type: ignore[attr-defined]
        pay.__annotations__ = {name: kind for name, (kind, _) in self.parameters.items()}
        pay.__annotations__["return"] = str
        on_error: Literal["ask"] | None = "ask" if self.kind == "failed" else None
        app.tool(name="pay", approval=policy, on_error=on_error)(pay)

    async def ask(self, turn: Turn, number: Any) -> Any:
        """What the turn waits with."""
        match self.kind:
            case "input":
                answer = await turn.interrupt("input_required", "What?", schema=self._model())
                return answer.value
            case "decide":
                options = [Option(one.title(), one) for one in self.options]
                return (await turn.decide(why="w", planned_action="p", options=options)).action
            case "clarify":
                return (await turn.clarify("What?", schema=self._model())).value
            case "unsure step":
                return await turn.step.options(name="number")(number)
            case "client":
                return await turn.client_tool("pick", {"of": 3}, schema=self._model())
            case "inner":
                return await turn.delegate("inner")
        return await turn.call("pay", self.given)

    def _model(self) -> Any:
        return self.model or create_model("Given", n=(int, ...))


_tried: list[str] = []


def _signature(parameters: dict[str, Any]) -> Any:
    return Signature(
        [
            Parameter(
                name,
                Parameter.KEYWORD_ONLY,
                annotation=kind,
                default=Parameter.empty if default is ... else default,
            )
            for name, (kind, default) in parameters.items()
        ],
        return_annotation=str,
    )


async def first() -> str:
    return "first"


async def last() -> str:
    return "last"


class Stricter(BaseModel):
    """An answer that has to have more."""

    n: int
    why: str


class Listed(BaseModel):
    """An answer of another type."""

    n: list[int]


KINDS = {
    "approval": YES,
    "votes": YES,
    "input": {"n": 1},
    "decide": {"action": "some"},
    "clarify": {"n": 1},
    "breakpoint": {"action": "continue"},
    "unsure step": {"action": "skip", "result": 1},
    "unsure tool": {"action": "skip", "result": "paid"},
    "failed": {"action": "retry"},
    "client": '{"n": 1}',
    "inner": YES,
}
CHANGES: dict[str, dict[str, Any]] = {
    "a parameter with a default": {"parameters": {"x": (int, ...), "to": (str, "a")}},
    "a required parameter": {"parameters": {"x": (int, ...), "to": (str, ...)}},
    "no parameter": {"parameters": {}, "given": {}},
    "a parameter renamed": {"parameters": {"y": (int, ...)}},
    "a parameter renamed in the call too": {"parameters": {"y": (int, ...)}, "given": {"y": 5}},
    "a parameter retyped": {"parameters": {"x": (list[int], ...)}},
    "a tighter bound": {"parameters": {"x": (Annotated[int, Field(le=3)], ...)}},
    "no tool": {"tool": False},
    "a stricter model": {"model": Stricter},
    "another model": {"model": Listed},
    "an option less": {"options": ("all",)},
    "another type of a step": {"step_type": list[int]},
    "another order": {"reordered": True},
    "no agent": {"agent": False},
    "no inner agent": {"inner": False},
}


def _began(kind: str) -> Conversation:
    _tried.clear()
    return Conversation(Code(kind=kind).app(), "agent")


def _wait(agent: Conversation, kind: str) -> None:
    """Bring the turn to where it waits."""
    if kind.startswith("unsure"):
        agent.crash_after("pay" if kind == "unsure tool" else "number")
    agent.say("go", tools=[OFFERED])
    if kind.startswith("unsure"):
        agent.restart()
    if kind == "votes":
        _vote(agent, LEADS[0])


def _vote(agent: Conversation, lead: Principal) -> None:
    """Approve from the inbox, and wait for what comes of it."""
    world = agent._opened()
    asked = next(item.id for item in agent._open())

    async def vote() -> None:
        entry = ResumeEntry(interrupt_id=asked, status="resolved", payload=YES)
        await world.app._engine.answers.answer(lead, entry)
        await world.rest()

    world.do(vote)


def _answer(agent: Conversation, kind: str) -> str:
    """Give the answer; what came of it, in a word."""
    try:
        if kind == "votes":
            _vote(agent, LEADS[1])
            return agent.status or ""
        if kind == "client":
            call = next(m for m in agent.messages if m.get("toolCalls"))["toolCalls"][0]["id"]
            said = {"id": "result", "role": "tool", "toolCallId": call, "content": KINDS[kind]}
            return agent.send(messages=[said]).outcome
        return agent.question.answer(KINDS[kind]).outcome
    except (Refused, Problem) as refusal:
        return f"refused: {refusal.code}"


def _check_truth(agent: Conversation) -> None:
    """Nothing that was said is untrue: what was approved and ran is not told as something else."""
    for result in agent.results:
        assert "before anyone decided" not in result
        assert "Not executed" not in result


@pytest.mark.parametrize("catches", [False, True], ids=["raises", "catches"])
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("kind", KINDS)
def test_the_code_that_began_a_turn_finishes_it(kind: str, change: str, catches: bool) -> None:
    """New code takes the answer or leaves everything as it was; what it leaves is not lost."""
    with _began(kind) as agent:
        _wait(agent, kind)
        assert agent.status == "suspended"
        waiting = [item.id for item in agent._open()]
        before = list(agent.effects)
        # The kit's own restart would say at once that there is no such agent.
        agent._opened().restart(Code(kind=kind, catches=catches, **CHANGES[change]).app())
        outcome = _answer(agent, kind)
        if agent.status != "finished":
            assert outcome in ("replay_mismatch", "suspended") or outcome.startswith("refused")
            assert agent.effects == before, "code that does not fit runs nothing"
            agent.restart(Code(kind=kind).app())
            assert [item.id for item in agent._open()] == waiting, "and takes no answer"
            _answer(agent, kind)
        assert agent.status == "finished"
        ran = [name for name in agent.effects if name != "number"]
        paid = {"input": 0, "decide": 0, "clarify": 0, "unsure step": 0, "client": 0, "failed": 2}
        assert ran == ["first", *["pay"] * paid.get(kind, 1), "last"]
        _check_truth(agent)


def test_what_others_had_said_outlives_code_that_does_not_fit() -> None:
    """Of a set, the answer that completed it has to be given again; one that was held is kept."""

    def version(*, renamed: bool) -> Sayso:
        app = Sayso(store="memory:", server=ServerOptions(console=False))

        @app.agent("agent")
        async def agent(turn: Turn) -> list[Any]:
            reasons = ("shop:b" if renamed else "shop:a", "shop:c")
            asked = [Question(reason=one, message="Yes?", schema=bool) for one in reasons]
            return [answer.value for answer in await turn.interrupt_all(asked)]

        return app

    with Conversation(version(renamed=False)) as agent:
        agent.say("go")
        world = agent._opened()

        def give(which: int, value: bool) -> None:
            entry = ResumeEntry(interrupt_id=ids[which], status="resolved", payload=value)

            async def answer() -> None:
                await world.app._engine.answers.answer(agent.principal, entry)
                await world.rest()

            world.do(answer)

        ids = [question.id for question in agent.questions]
        give(0, True)
        agent.restart(version(renamed=True))
        give(1, True)
        first_asked, second_asked = agent._open()
        assert (first_asked.held is None, second_asked.held is None) == (False, True)
        agent.restart(version(renamed=False))
        give(1, False)
        assert agent.status == "finished"
        assert [
            item["content"]["answer"] for item in agent.messages if item["role"] == "activity"
        ] == [True, False]


def test_a_call_that_code_cannot_make_is_the_models_affair_where_nothing_is_recorded() -> None:
    """Models invent names and arguments; replay goes past the same errors, and finds its place."""
    app = Sayso(store="memory:", server=ServerOptions(console=False))

    @app.tool(approval=approval.always)
    async def pay(x: int) -> str:
        return f"paid {x}"

    @app.agent("agent")
    async def agent(turn: Turn) -> list[str]:
        came = []
        for name, arguments in (
            ("pay", {"x": "much"}),
            ("apy", {"x": 1}),
            ("pay", {"x": 1}),
            ("pay", {}),
        ):
            try:
                came.append(str(await turn.call(name, arguments)))
            except (LookupError, ValueError) as error:
                came.append(type(error).__name__)
        return came

    with Conversation(app) as talk:
        talk.say("go")
        run = talk.question.approve()
        assert run.result == ["ValidationError", "LookupError", "paid 1", "ValidationError"]


def test_the_mismatch_says_what_could_not_be_made_and_where() -> None:
    """A place, the record, the reason, without a value; the log has the author's line as well."""
    with _began("approval") as agent:
        _wait(agent, "approval")
        agent.restart(Code(kind="approval", **CHANGES["a required parameter"]).app())
        run = agent.question.approve()
        assert run.error is not None
        assert "call 'pay' cannot be made: ValidationError: to: Field required" in run.error
        details = run.events[-1]["metadata"]["sayso"]
        assert details["place"] == "1" and details["recorded"].startswith("call pay ")
