"""An app over one agent, for tests that talk to it."""

from typing import Any

from sayso import Sayso
from sayso.pydantic_ai import mount


def app_of(agent: Any, **options: Any) -> Sayso:
    """An app that serves the agent as `desk`."""
    app = Sayso(store="memory:")
    mount(app, "desk", agent, **options)
    return app
