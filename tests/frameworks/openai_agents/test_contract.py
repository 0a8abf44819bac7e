"""What every adapter keeps, with an agent of the OpenAI Agents SDK."""

from agents import Agent, RunConfig, Runner

from sayso import Sayso
from sayso.openai_agents import mount
from tests.frameworks.contract import Contract, InnerAgents, Untouched
from tests.frameworks.openai_agents.models import Items, Planned, agent_of, results_of
from tests.frameworks.shop import Reply, Shop, Wanted


class TestContract(Contract):
    """The contract's tests."""

    def mount(self, app: Sayso, shop: Shop) -> None:
        mount(app, "shop", agent_of(shop))


class TestInnerAgents(InnerAgents):
    """Those of an agent as a tool."""

    def mount_outer(self, app: Sayso, shop: Shop) -> None:
        clerk = agent_of(shop).clone(name="clerk")

        def plan(items: Items) -> Reply:
            results = results_of(items)
            if results:
                return Reply(f"The clerk: {results[-1]}")
            asked = str(next(i["content"] for i in reversed(items) if i.get("role") == "user"))
            return Reply("", (Wanted("call_1", "ask_clerk", {"input": asked}),))

        tools = [clerk.as_tool("ask_clerk", "Asks the clerk.")]
        mount(app, "shop", Agent(name="front", model=Planned(plan), tools=tools))


class TestUntouched(Untouched):
    """Those of an agent without a server."""

    async def outside(self, app: Sayso, shop: Shop, text: str) -> str:
        agent = agent_of(shop)
        mount(app, "shop", agent)
        result = await Runner.run(agent, text, run_config=RunConfig(tracing_disabled=True))
        return str(result.final_output)
