"""A graph of `create_agent` keeps what every adapter keeps."""

from typing import Any

from langchain.agents import create_agent
from langchain_core.tools import StructuredTool, tool

from sayso import Sayso
from sayso.langgraph import mount
from tests.frameworks.contract import Contract, InnerAgents, Untouched
from tests.frameworks.langgraph.models import PlannedChat
from tests.frameworks.shop import Desk, Shop


def agent_of(shop: Shop, **options: Any) -> Any:
    """The shop's agent: nothing in it knows of this server."""
    tools = [StructuredTool.from_function(each) for each in shop.tools]
    return create_agent(PlannedChat(shop=shop), tools, system_prompt=shop.prompt, **options)


class TestContract(Contract, InnerAgents, Untouched):
    """The contract, over `create_agent`."""

    commits_of_a_gated_trip = 4

    def mount(self, app: Sayso, shop: Shop) -> None:
        mount(app, "shop", agent_of(shop), approve=shop.policies)

    def mount_outer(self, app: Sayso, shop: Shop) -> None:
        clerk = agent_of(shop, name="clerk")

        @tool
        async def ask_clerk(what: str) -> str:
            """Ask the clerk."""
            done = await clerk.ainvoke({"messages": [("user", what)]})
            return str(done["messages"][-1].text)

        outer = create_agent(PlannedChat(shop=Desk()), [ask_clerk])
        mount(app, "shop", outer, parts={"ask_clerk": clerk}, approve=shop.policies)

    async def outside(self, app: Sayso, shop: Shop, text: str) -> str:
        graph = agent_of(shop)
        mount(app, "shop", graph, approve=shop.policies)
        done = await graph.ainvoke({"messages": [("user", text)]})
        return str(done["messages"][-1].text)
