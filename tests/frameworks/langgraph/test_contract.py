"""A graph of `create_agent` keeps what every adapter keeps."""

from typing import Any

from langchain.agents import create_agent
from langchain_core.tools import StructuredTool

from sayso import Sayso
from sayso.langgraph import mount
from tests.frameworks.contract import Contract, Untouched
from tests.frameworks.langgraph.models import PlannedChat
from tests.frameworks.shop import Shop


def agent_of(shop: Shop) -> Any:
    """The shop's agent: nothing in it knows of this server."""
    tools = [StructuredTool.from_function(tool) for tool in shop.tools]
    return create_agent(PlannedChat(shop=shop), tools, system_prompt=shop.prompt)


class TestContract(Contract, Untouched):
    """The contract, over `create_agent`."""

    def mount(self, app: Sayso, shop: Shop) -> None:
        mount(app, "shop", agent_of(shop), approve=shop.policies)

    async def outside(self, app: Sayso, shop: Shop, text: str) -> str:
        graph = agent_of(shop)
        mount(app, "shop", graph, approve=shop.policies)
        done = await graph.ainvoke({"messages": [("user", text)]})
        return str(done["messages"][-1].text)
