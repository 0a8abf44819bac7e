"""What the tests of graphs stand on."""

from collections.abc import Callable
from typing import Any

import pytest

from sayso import Sayso, ServerOptions
from sayso.langgraph import mount
from sayso.testing import Conversation

Serve = Callable[..., Conversation]


@pytest.fixture
def effects() -> list[str]:
    """What the graphs have done to the world."""
    return []


@pytest.fixture
def serve() -> Serve:
    """A function that serves a graph, for a person to talk to."""

    def begin(graph: Any, **options: Any) -> Conversation:
        errors = options.pop("errors", "raise")
        app = Sayso(store="memory:", server=ServerOptions(console=False))
        mount(app, "shop", graph, **options)
        return Conversation(app, errors=errors)

    return begin
