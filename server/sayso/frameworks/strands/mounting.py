"""Serving an agent of Strands: `mount(app, "support", make)`."""

import inspect
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from pydantic_core import to_jsonable_python
from strands import Agent

from sayso import DeclarationError, Question, Sayso, Turn, approval
from sayso.frameworks.policies import Policies, check_names, check_policies
from sayso.frameworks.strands.contents import history_of
from sayso.frameworks.strands.middleware import ANSWER, make_durable
from sayso.frameworks.strands.running import AgentTools, StrandsRun, entered, runs_agent

_log = logging.getLogger("sayso.strands")

Make = Callable[[Turn], Agent | Awaitable[Agent]]


def mount(
    app: Sayso,
    name: str,
    make: Make,
    *,
    approve: Mapping[str, approval.Policy] | None = None,
    **options: Any,
) -> Callable[[Turn], Awaitable[Any]]:
    """Serve an agent of Strands as `POST /agents/{name}`.

    - `make`: makes the agent of the turn, on each entry, since an agent of Strands holds its
      conversation; it may be async. Messages that it has stand before the thread's.
    - `approve`: policies by the name of a tool, or by a pattern such as `delete_*`. A name that no
      tool has fails the turn, since the tools are known when it has begun.
    - `options`: those of `app.agent`.

    Raises:
        DeclarationError: an agent in place of a function, or no policy in `approve`.
    """
    if isinstance(make, Agent) or not callable(make):
        raise DeclarationError(
            f"agent {name!r} holds its conversation, so mount takes a function that makes one: "
            "lambda turn: Agent(…)"
        )
    approve = dict(approve or {})
    check_policies(name, approve)
    tools = AgentTools(Policies(approve))

    async def run(turn: Turn) -> Any:
        made = make(turn)
        agent: Any = await made if inspect.isawaitable(made) else made
        _check_agent(name, agent)
        check_names(name, approve, _names(agent), more=False, log=_log)
        make_durable(agent)
        *earlier, last = turn.input.messages
        prompt = history_of([last])
        agent.messages.extend(history_of(earlier))
        with entered(StrandsRun(turn, tools)):
            result = await agent.invoke_async(prompt[0]["content"] if prompt else None)
            while result.stop_reason == "interrupt":
                result = await agent.invoke_async(await _answered(turn, result.interrupts))
        output = getattr(result, "structured_output", None)
        return None if output is None else output.model_dump(mode="json")

    run.__doc__ = ""
    app.agent(name, **{"kind": "strands", **options})(run)
    return run


async def _answered(turn: Turn, interrupts: Any) -> list[Any]:
    """Ask what hooks and handlers of the author's ask, and give the answers back."""
    questions = [
        Question(
            reason="strands:interrupt",
            message=f"{each.name}: {each.reason}" if each.reason else each.name,
            schema=ANSWER,
            metadata={"name": each.name, "reason": to_jsonable_python(each.reason)},
        )
        for each in interrupts
    ]
    answers = await turn.interrupt_all(questions)
    responses = []
    for interrupt, answer in zip(interrupts, answers, strict=True):
        if not answer.resolved:
            await turn.cancel(f"the question {interrupt.name!r} has no answer: {answer.status}")
        response = {"interruptId": interrupt.id, "response": answer.value}
        responses.append({"interruptResponse": response})
    return responses


def _names(agent: Agent) -> set[str]:
    """The names of an agent's tools, and of those of agents among them."""
    names: set[str] = set()
    for name, tool in agent.tool_registry.registry.items():
        names.add(name)
        if runs_agent(tool):
            names |= _names(tool.agent)
    return names


def _check_agent(name: str, agent: Any) -> None:
    if not isinstance(agent, Agent):
        raise DeclarationError(f"what makes agent {name!r} made no strands.Agent, but {agent!r}")
    if agent._session_manager is not None:
        raise DeclarationError(
            f"agent {name!r} has a session manager: the thread is the session, leave it out"
        )
    if agent._background_tasks is not None:
        raise DeclarationError(
            f"agent {name!r} runs tools in the background, where no turn sees them: leave out "
            "background_tasks"
        )
