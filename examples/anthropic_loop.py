"""A model that calls tools, asked through Anthropic's client: what it wants, a policy decides.

    pip install anthropic && cd examples && sayso serve anthropic_loop:app

Say "void what is unpaid". Without a key a scripted model answers, on a port of this process. For a
real one set ANTHROPIC_API_KEY and let `client` be `AsyncAnthropic()`: nothing else changes. What
the model thinks streams, and goes back to it with its signature while the turn lasts.
"""

from anthropic import AsyncAnthropic

from sayso import Sayso, Turn, approval
from sayso.testing import FakeCall, FakeProvider, FakeReply, FakeRequest

app = Sayso(store="sqlite:///anthropic_loop.db")

INVOICES = {"R-1": "unpaid", "R-2": "paid", "R-3": "unpaid"}


def scripted(request: FakeRequest) -> FakeReply:
    """Stands for a model: looks at the invoices, voids two of them, says what it heard."""
    match len(request.results):
        case 0:
            return FakeReply(
                "Let me see.", [FakeCall("list_invoices")], thought="Which are unpaid?"
            )
        case 1:
            unpaid = [number for number, status in INVOICES.items() if status == "unpaid"]
            return FakeReply(calls=[FakeCall("void_invoice", {"number": n}) for n in unpaid])
        case _:
            return FakeReply("Done. " + " ".join(request.results[1:]))


provider = FakeProvider(scripted).__enter__()
client = AsyncAnthropic(base_url=provider.root, api_key="none")  # AsyncAnthropic()


@app.tool(effect="read")
async def list_invoices() -> dict[str, str]:
    """All invoices, with their status."""
    return INVOICES


@app.tool(approval=approval.always, effect="irreversible", editable=True)
async def void_invoice(number: str) -> str:
    """Void an invoice, for good."""
    return f"{number} is void."


@app.agent("clerk")
async def clerk(turn: Turn) -> None:
    """Asks the model, makes the calls that it wants, and tells it what came of them."""
    await turn.chat(
        client,
        model="claude-sonnet-5",
        tools=[list_invoices, void_invoice],
        max_tokens=2000,
        system="You are a clerk. Void only what nobody has paid.",
    )
