"""Agents as people write them: ordinary asyncio around questions and steps.

Each pattern says which questions are open after each run, which effects the world has seen at the
end, and what the agent returned.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from sayso import Turn
from tests.turns.driver import World

__all__ = ["PATTERNS", "Pattern", "ask", "do", "pattern", "then_ask", "two"]

Agent = Callable[[Turn, World], Awaitable[Any]]


@dataclass(frozen=True)
class Pattern:
    """An agent and what must come of it; answers are `yes-` and the question's message."""

    agent: Agent
    rounds: tuple[tuple[str, ...], ...]
    effects: tuple[str, ...] = ()
    result: Any = None
    fails: str | None = None
    """The error code that the turn ends with instead of a result."""
    abandoned: bool = False
    """Whether it cannot be unwound by any means; Python itself then says so."""

    @property
    def name(self) -> str:
        return self.agent.__name__


PATTERNS: list[Pattern] = []


def pattern(
    *rounds: tuple[str, ...] | str,
    effects: str = "",
    result: Any = None,
    fails: str | None = None,
    abandoned: bool = False,
) -> Callable[[Agent], Agent]:
    """Put an agent into the table; effects are words, in any order."""

    def register(agent: Agent) -> Agent:
        asked = tuple((r,) if isinstance(r, str) else r for r in rounds)
        PATTERNS.append(Pattern(agent, asked, tuple(effects.split()), result, fails, abandoned))
        return agent

    return register


async def ask(turn: Turn, question: str) -> Any:
    """A question that takes text."""
    return (await turn.interrupt("input_required", question, schema=str)).value


async def do(turn: Turn, w: World, name: str, turns: int = 0) -> Any:
    """A step with one effect, which takes some turns of the loop."""
    return await turn.step.options(name=f"do {name}")(w.slowly, name, turns)


async def two(turn: Turn, w: World, name: str) -> str:
    """A branch with two effects."""
    await do(turn, w, name + "1", 5)
    await do(turn, w, name + "2", 5)
    return name


async def then_ask(turn: Turn, w: World, name: str) -> Any:
    """A branch with an effect and then a question."""
    await do(turn, w, name + "1", 3)
    return await ask(turn, "q" + name)
