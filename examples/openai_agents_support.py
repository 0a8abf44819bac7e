"""An agent of the OpenAI Agents SDK that a person has a say in: as it is, served by one line.

    pip install 'sayso[openai-agents]'
    cd examples && sayso serve openai_agents_support:app

Say "refund A-17". The look-up runs, the refund waits for a yes; its arguments can be edited. Kill
the server meanwhile and start it again: the card is there, and the refund happens once.

Without a key a scripted model answers, on a port of this process. For a real one leave `model` out,
or give its name, `Agent(…, model="gpt-5-mini")`, and set OPENAI_API_KEY.
"""

from agents import Agent, OpenAIChatCompletionsModel, function_tool
from openai import AsyncOpenAI

from sayso import Sayso
from sayso.openai_agents import mount
from sayso.testing import FakeCall, FakeProvider, FakeReply, FakeRequest


def scripted(request: FakeRequest) -> FakeReply:
    """Stands for a model: looks the order up, refunds it, says what it heard."""
    if "refund" not in request.text:
        return FakeReply("Say which order to refund.")
    match len(request.results):
        case 0:
            call = FakeCall("look_up", {"order_id": "A-17"})
            return FakeReply("Let me see.", calls=[call])
        case 1:
            refund = {"order_id": "A-17", "amount": 240.0}
            return FakeReply(calls=[FakeCall("issue_refund", refund)])
        case _:
            return FakeReply(f"Done: {request.results[-1]}")


@function_tool
async def look_up(order_id: str) -> str:
    """Look an order up."""
    return f"{order_id}: 240.00, paid"


@function_tool(needs_approval=True)
async def issue_refund(order_id: str, amount: float) -> str:
    """Refund an order."""
    return f"refunded {amount:.2f} for {order_id}"


provider = FakeProvider(scripted).__enter__()
client = AsyncOpenAI(base_url=provider.url, api_key="none")
agent = Agent(
    name="support",
    instructions="You refund orders, each once.",
    model=OpenAIChatCompletionsModel("gpt-5-mini", client),
    tools=[look_up, issue_refund],
)

app = Sayso(store="sqlite:///openai_agents_support.db")
mount(app, "support", agent)
