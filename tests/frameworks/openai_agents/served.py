"""An app that serves an agent of the SDK for a test."""

from typing import Any

from agents import Agent

from sayso import Sayso
from sayso.openai_agents import mount


def app_of(agent: Agent[Any], *, app: dict[str, Any] | None = None, **options: Any) -> Sayso:
    """An app in memory with the agent as `a`."""
    made = Sayso(store="memory:", **(app or {}))
    mount(made, "a", agent, **options)
    return made
