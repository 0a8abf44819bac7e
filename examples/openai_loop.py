"""A model that calls tools, asked through OpenAI's client: what it wants, a policy decides.

    cd examples && sayso serve openai_loop:app

Say "void what is unpaid". Without a key a scripted model answers, on a port of this process. For a
real one `pip install openai`, set OPENAI_API_KEY, and let `client` be `AsyncOpenAI()`: nothing else
changes. Any server that speaks chat completions does as well: `AsyncOpenAI(base_url=…)`.
"""

from sayso import Sayso, Turn, approval
from sayso.providers import Completions
from sayso.testing import FakeCall, FakeProvider, FakeReply, FakeRequest

app = Sayso(store="sqlite:///openai_loop.db")

INVOICES = {"R-1": "unpaid", "R-2": "paid", "R-3": "unpaid"}


def scripted(request: FakeRequest) -> FakeReply:
    """Stands for a model: looks at the invoices, voids two of them, says what it heard."""
    match len(request.results):
        case 0:
            return FakeReply("Let me see.", calls=[FakeCall("list_invoices")])
        case 1:
            unpaid = [number for number, status in INVOICES.items() if status == "unpaid"]
            return FakeReply(calls=[FakeCall("void_invoice", {"number": n}) for n in unpaid])
        case _:
            return FakeReply("Done. " + " ".join(request.results[1:]))


provider = FakeProvider(scripted).__enter__()
client = Completions(provider.url)  # AsyncOpenAI()


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
        model="gpt-5-mini",
        tools=[list_invoices, void_invoice],
        system="You are a clerk. Void only what nobody has paid.",
    )
