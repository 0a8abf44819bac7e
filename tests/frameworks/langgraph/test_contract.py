"""A graph of `create_agent` keeps what every adapter keeps."""

from langchain.agents import create_agent
from langchain_core.tools import StructuredTool

from sayso import Sayso, approval
from sayso.langgraph import mount
from tests.frameworks.contract import Contract
from tests.frameworks.langgraph.conftest import Serve
from tests.frameworks.langgraph.models import PlannedChat
from tests.frameworks.shop import Shop


class TestContract(Contract):
    """The contract, over `create_agent`."""

    def mount(self, app: Sayso, shop: Shop) -> None:
        tools = [StructuredTool.from_function(tool) for tool in shop.tools]
        graph = create_agent(PlannedChat(shop=shop), tools, system_prompt=shop.prompt)
        mount(app, "shop", graph, approve=shop.policies)


def test_the_graph_itself_stays_as_it_was(serve: Serve) -> None:
    shop = Shop()
    graph = create_agent(PlannedChat(shop=shop), [StructuredTool.from_function(shop.issue_refund)])
    with serve(graph, approve={"issue_refund": approval.always}) as talk:
        talk.say("refund A-17")
    done = graph.invoke({"messages": [("user", "refund A-18")]})
    assert done["messages"][-1].content == "Done: refunded 240.00 for A-18"
    assert shop.effects == ["refund A-18 240"]
