"""An agent of Strands on a real server, which dies in a tool or in a model."""

from sayso import Sayso, ServerOptions
from sayso.strands import mount
from tests.frameworks.mortal import Ledger
from tests.frameworks.strands.models import agent_of

ledger = Ledger()
app = Sayso(store="memory:", server=ServerOptions(lease=3.0, console=False))
mount(app, "shop", lambda turn: agent_of(ledger), approve=ledger.policies)
