"""An app over one agent, for tests that talk to it."""

from typing import Any

from sayso import Sayso, approval
from sayso.agent_framework import mount


def app_of(
    agent: Any, *, default_approval: approval.Policy = approval.never, **options: Any
) -> Sayso:
    """An app that serves the agent as `desk`."""
    app = Sayso(store="memory:", default_approval=default_approval)
    mount(app, "desk", agent, **options)
    return app
