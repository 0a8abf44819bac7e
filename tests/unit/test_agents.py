"""Agents that cannot be served are refused where they are declared."""

from collections.abc import Callable
from typing import Any

import pytest

from sayso import DeclarationError, Sayso, Turn


async def fine(turn: Turn) -> None:
    """An agent."""


def plain(turn: Turn) -> None:
    """No coroutine."""


async def lonely() -> None:
    """Takes no turn."""


@pytest.mark.parametrize(
    ("declare", "says"),
    [
        (lambda app: app.agent(fine), '@app.agent("name")'),
        (lambda app: app.agent("a")(plain), "async def"),
        (lambda app: app.agent("a")(lonely), "one argument"),
        (lambda app: app.agent("a/b")(fine), "slashes"),
        (lambda app: app.agent("")(fine), "path"),
        (lambda app: app.agent(" a")(fine), "spaces"),
        (lambda app: [app.agent("a")(fine), app.agent("a")(fine)], "version="),
    ],
    ids=["bare", "sync", "no turn", "slash", "no name", "space", "twice"],
)
def test_an_agent_that_cannot_be_served_fails_its_declaration(
    declare: Callable[[Any], object], says: str
) -> None:
    """The message names what to write instead."""
    with pytest.raises(DeclarationError) as caught:
        declare(Sayso(store="memory:", console=False))
    assert says in str(caught.value)


def test_a_declared_agent_is_the_function_it_was() -> None:
    """The decorator takes nothing from who wants to test the function itself."""
    app = Sayso(store="memory:", console=False)
    assert app.agent("a")(fine) is fine
    assert app.agent("a", version="2")(fine) is fine
