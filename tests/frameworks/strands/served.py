"""An app over one agent, for tests that talk to it."""

from collections.abc import Callable
from typing import Any

from strands import Agent, tool
from strands.models import Model

from sayso import Sayso
from sayso.strands import mount


def app_of(make: Any, **options: Any) -> Sayso:
    """An app that serves what the function makes as `desk`."""
    app = Sayso(store="memory:")
    mount(app, "desk", make, **options)
    return app


def desk(model: Model, *functions: Callable[..., Any], **options: Any) -> Callable[..., Agent]:
    """A function that makes an agent of a model and plain functions."""

    def make(turn: Any = None) -> Agent:
        tools = [each if hasattr(each, "tool_spec") else tool(each) for each in functions]
        return Agent(model=model, name="desk", tools=tools, callback_handler=None, **options)

    return make
