"""An agent of Agent Framework on a real server, which dies in a tool or in a model."""

from sayso import Sayso, ServerOptions
from sayso.agent_framework import mount
from tests.frameworks.agent_framework.models import agent_of
from tests.frameworks.mortal import Ledger

ledger = Ledger()
app = Sayso(store="memory:", server=ServerOptions(lease=3.0, console=False))
mount(app, "shop", agent_of(ledger), approve=ledger.policies)
