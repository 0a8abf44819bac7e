"""Random agents: trees of gathers, inner agents, steps, texts, calls, state and questions.

A program is plain data, so that the same one can be run undisturbed and torn apart by deaths.
"""

from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from sayso import Sayso, StepFailed, ToolCall, Turn, approval
from sayso.turns.agents.delegation import AgentFunction
from tests.turns.driver import World, ticks

__all__ = ["Program", "programs", "run", "tools"]


@dataclass(frozen=True)
class Program:
    """One thing to do, maybe with others inside: `seq`, `all`, `inner`, or a leaf."""

    kind: str
    name: str = ""
    parts: tuple["Program", ...] = ()
    pause: int = 0
    """Turns of the loop before it, so that branches meet in every order."""

    def __repr__(self) -> str:
        inside = ", ".join(map(repr, self.parts))
        return f"{self.kind}({self.name}{inside})" + (f"~{self.pause}" if self.pause else "")


LEAVES = ("step", "fails", "say", "ask", "free", "gated", "set", "value", "stream", "batch", "page")


def programs() -> st.SearchStrategy[Program]:
    """Programs of a handful of leaves; names are given afterwards, so that all are distinct."""
    leaf = st.builds(
        Program, kind=st.sampled_from(LEAVES), pause=st.sampled_from((0, 0, 0, 1, 3, 12))
    )
    tree = st.recursive(
        leaf,
        lambda inner: st.builds(
            Program,
            kind=st.sampled_from(("seq", "all", "inner")),
            parts=st.lists(inner, min_size=1, max_size=3).map(tuple),
        ),
        max_leaves=7,
    )
    return tree.map(_named)


def _named(program: Program, path: str = "p") -> Program:
    parts = tuple(_named(part, f"{path}{n}") for n, part in enumerate(program.parts))
    return Program(program.kind, path, parts, program.pause)


def tools(world: World, app: Sayso) -> Any:
    """A free tool and a gated one."""

    @app.tool()
    async def free(name: str) -> str:
        await ticks(len(name) % 3)
        return str(world.effect(name))

    @app.tool(approval=approval.always)
    async def gated(name: str) -> str:
        return str(world.effect(name))

    return {"free": free, "gated": gated}


async def run(program: Program, turn: Turn, world: World) -> Any:
    """Execute a program; its value tells everything that author code has seen."""
    await ticks(program.pause)
    name = program.name
    match program.kind:
        case "seq":
            return [await run(part, turn, world) for part in program.parts]
        case "all":
            return await turn.gather(*(run(part, turn, world) for part in program.parts))
        case "inner":
            return await turn.delegate(inner(program, world), name="inner")
        case "step":
            return await turn.step.options(name=name)(world.slowly, name, len(name) % 4)
        case "fails":
            return await failing(turn, world, name)
        case "say":
            await turn.say(f"text {name}")
            return None
        case "ask":
            return (await turn.interrupt("input_required", name, schema=str)).value
        case "set":
            await turn.set(f"/{name}", name)
            return turn.state[name]
        case "value":
            return str(await turn.uuid()) == str(await turn.step(str, await turn.uuid()))
        case "stream":
            return await turn.stream(words(name))
        case "page":
            return (await turn.client_tool("pick", {"name": name})).value
        case _:
            return await calling(program.kind, name, turn, world)


async def calling(kind: str, name: str, turn: Turn, world: World) -> Any:
    """A call of a tool, or of both in one batch."""
    if kind != "batch":
        return str(await turn.call(world.tools[kind], name=name))
    calls = [
        ToolCall(world.tools["free"], {"name": f"{name}f"}),
        ToolCall(world.tools["gated"], {"name": f"{name}g"}),
    ]
    return [str(call) for call in await turn.call_all(calls)]


def inner(program: Program, world: World) -> AgentFunction:
    """An inner agent that does the parts one after the other; all of them are called the same."""

    async def agent(turn: Turn) -> list[Any]:
        return [await run(part, turn, world) for part in program.parts]

    return agent


async def failing(turn: Turn, world: World, name: str) -> str:
    """A step that has its effect and then raises."""

    def fails() -> None:
        world.effect(name)
        raise ValueError(name)

    try:
        await turn.step.options(name=name)(fails)
    except StepFailed as failed:
        return f"{failed.error_type} {failed.message}"
    raise AssertionError("a step that raises has failed")


async def words(name: str) -> Any:
    """A text in pieces."""
    for piece in ("stream ", name):
        await ticks(1)
        yield piece
