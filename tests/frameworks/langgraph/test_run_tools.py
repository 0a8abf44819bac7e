"""A tool that only a run knows: middleware puts it into the request of its call."""

from collections.abc import Awaitable, Callable
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain_core.tools import StructuredTool

from sayso import Sayso, ServerOptions, approval
from sayso.langgraph import mount
from sayso.testing import Conversation
from tests.frameworks.langgraph.models import PlannedChat
from tests.frameworks.shop import Shop


class Bringing(AgentMiddleware[Any, Any]):
    """Brings the refunds along, which the graph does not have."""

    def __init__(self, shop: Shop) -> None:
        super().__init__()
        self._refund = StructuredTool.from_function(shop.issue_refund)

    async def awrap_tool_call(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        """Put the tool into the request."""
        return await handler(request if request.tool else request.override(tool=self._refund))


def test_it_is_as_the_app_says_and_runs_once() -> None:
    shop = Shop()
    tools = [StructuredTool.from_function(shop.order_status)]
    graph = create_agent(PlannedChat(shop=shop), tools, middleware=[Bringing(shop)])
    app = Sayso(
        store="memory:",
        default_approval=approval.always,
        server=ServerOptions(console=False),
    )
    mount(app, "shop", graph)
    with Conversation(app) as talk:
        assert talk.say("refund A-17").outcome == "interrupt"
        assert (talk.question.tool, shop.effects) == ("issue_refund", [])
        talk.restart()
        assert talk.question.approve().text == "Done: refunded 240.00 for A-17"
    assert shop.effects == ["refund A-17 240"]
