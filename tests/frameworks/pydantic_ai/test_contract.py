"""What every adapter keeps, with an agent of Pydantic AI."""

from pydantic_ai import Agent, RunContext

from sayso import Sayso
from sayso.pydantic_ai import SaysoDurability, mount
from tests.frameworks.contract import Contract, InnerAgents, Untouched
from tests.frameworks.pydantic_ai.models import agent_of, conversation, planned
from tests.frameworks.shop import Desk, Shop


class TestContract(Contract, InnerAgents, Untouched):
    """The contract's tests."""

    def mount(self, app: Sayso, shop: Shop) -> None:
        mount(app, "shop", agent_of(shop))

    def mount_outer(self, app: Sayso, shop: Shop) -> None:
        clerk = agent_of(shop, "clerk", capabilities=[SaysoDurability(name="clerk")])
        desk = Desk()
        outer = Agent(planned(lambda messages: desk.reply(conversation(messages))), name="desk")

        @outer.tool
        async def ask_clerk(ctx: RunContext[None], what: str) -> str:
            """Ask the clerk."""
            return str((await clerk.run(what, usage=ctx.usage)).output)

        mount(app, "shop", outer, parts={"ask_clerk": clerk})

    async def outside(self, app: Sayso, shop: Shop, text: str) -> str:
        agent = agent_of(shop)
        mount(app, "shop", agent)
        return str((await agent.run(text)).output)
