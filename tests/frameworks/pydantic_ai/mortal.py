"""An agent of Pydantic AI on a real server, which dies in a tool or in a model."""

from sayso import Sayso, ServerOptions
from sayso.pydantic_ai import mount
from tests.frameworks.mortal import Ledger
from tests.frameworks.pydantic_ai.models import agent_of

app = Sayso(store="memory:", server=ServerOptions(lease=3.0, console=False))
mount(app, "shop", agent_of(Ledger()))
