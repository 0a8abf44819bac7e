"""Whatever effects return, say or raise: each ran once, and is told as what it was."""

import logging
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sayso import Sayso, ServerOptions, Turn
from sayso.agents.tools import Tool
from sayso.base.errors import StepFailed, TurnError
from sayso.testing import Conversation

TEXTS = st.text(st.characters(exclude_categories=()), max_size=8) | st.sampled_from(
    ["\ud83d", "\ude00\ud83d", "a\udce9", ""]
)
VALUES = st.recursive(
    TEXTS | st.floats() | st.integers() | st.binary(max_size=3) | st.builds(object) | st.none(),
    lambda inside: (
        st.lists(inside, max_size=2)
        | st.dictionaries(TEXTS | st.integers(0, 3), inside, max_size=2)
        | st.tuples(inside, inside)
        | st.frozensets(TEXTS, max_size=2)
    ),
    max_leaves=4,
)
KINDS = ("tool", "typed", "part", "streaming", "step", "stream")


@pytest.fixture(autouse=True)
def unlogged() -> Iterator[None]:
    """What the log says of such errors holds halves of characters, which no report can carry."""
    logging.disable()
    yield
    logging.disable(logging.NOTSET)


class Odd(Exception):
    """An error whose text is what it was given, be it none."""

    def __str__(self) -> str:
        text: str = self.args[0]
        return text


def made(kind: str, ran: list[str], what: Any, *, raises: bool) -> Sayso:
    """An app whose agent does one thing, and tells how it ended."""
    app = Sayso(store="memory:", server=ServerOptions(console=False))

    def work() -> Any:
        ran.append(kind)
        if raises:
            raise Odd(what)
        return what

    async def pieces() -> AsyncIterator[Any]:
        ran.append(kind)
        yield "Hm "
        if raises:
            raise Odd(what)
        yield what

    tools = declared(app, work, pieces)

    @app.agent("a")
    async def agent(turn: Turn) -> list[str]:
        if kind in tools:
            call = await turn.call(tools[kind])
            return [call.status, str(call)]
        try:
            await (
                turn.step.options(name="step")(work) if kind == "step" else turn.stream(pieces())
            )
        except StepFailed as error:
            return ["failed", error.message]
        except TurnError as error:  # what a step returned does not come back
            return ["executed", str(error)]
        return ["executed", ""]

    return app


def declared(
    app: Sayso, work: Callable[[], Any], pieces: Callable[[], AsyncIterator[Any]]
) -> dict[str, Tool[..., Any]]:
    """One tool of each kind."""

    @app.tool()
    async def tool() -> Any:
        return work()

    @app.tool()
    async def typed() -> dict[str, int]:
        return work()  # type: ignore[no-any-return]  # that is the point

    @app.tool()
    async def part(turn: Turn) -> Any:
        return work()

    @app.tool()
    async def streaming() -> AsyncIterator[str]:
        async for piece in pieces():
            yield piece

    return {"tool": tool, "typed": typed, "part": part, "streaming": streaming}


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.sampled_from(KINDS), VALUES, st.booleans())
def test_what_ran_once_is_told_once_and_as_what_it_was(kind: str, what: Any, raises: bool) -> None:
    """Design 3, rules 4 and 5: no death, so nothing is unsure; what ran is not told as not run."""
    ran: list[str] = []
    with Conversation(made(kind, ran, what, raises=raises)) as agent:
        run = agent.say("go")
        assert agent.questions == []
        assert run.outcome == "success"
        status, text = run.events[-1]["result"]
    assert ran == [kind]
    if raises:
        assert status == "failed"
    elif kind in ("tool", "typed", "part"):
        assert status == "executed", text
    elif kind == "step" and status == "failed":
        assert text.startswith("the step ran, and its result could not be recorded")
    elif isinstance(what, str):
        assert status == "executed", text
