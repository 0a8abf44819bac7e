"""An agent of the OpenAI Agents SDK on a real server, which dies in a tool or in a model."""

from sayso import Sayso, ServerOptions
from sayso.openai_agents import mount
from tests.frameworks.mortal import Ledger
from tests.frameworks.openai_agents.models import agent_of

app = Sayso(store="memory:", server=ServerOptions(lease=3.0, console=False))
mount(app, "shop", agent_of(Ledger()))
