"""What an app does before it serves: `Sayso(on_start=[…])`."""

from typing import Any

import pytest

from sayso import DeclarationError, Sayso, Tool, Turn
from tests.apps import app_with
from tests.contract.server import Client, Server

KINDS = ("memory",)


class Starting:
    """Functions of a start, which write down that they ran."""

    def __init__(self) -> None:
        self.ran: list[str] = []
        self.fails = False

    async def tools(self, app: Sayso) -> None:
        """Find out which tools there are, as a protocol would."""
        self.ran.append("tools")

        async def pay(arguments: dict[str, Any]) -> str:
            return "paid"

        app.add_tools(Tool.of("pay", parameters={}, call=pay), agent="till")

    async def agents(self, app: Sayso) -> None:
        """Declare an agent, and fail in the middle, the first time."""
        self.ran.append("agents")

        @app.agent("till")
        async def till(turn: Turn) -> Any:
            return (await turn.call("pay", {})).value

        if self.fails:
            self.fails = False
            raise OSError("nobody\nanswers")


def app_that_starts(starting: Starting, **options: Any) -> Sayso:
    return app_with(
        store="memory:", console=False, on_start=[starting.tools, starting.agents], **options
    )


async def test_they_run_once_in_order_before_anything_is_served() -> None:
    """With the server, whatever asks first, and however often it starts."""
    starting = Starting()
    app = app_that_starts(starting)
    async with app.lifespan():
        assert starting.ran == ["tools", "agents"]
        run = await Client(app, "till").say()
        assert run.last["result"] == "paid"
    async with app.lifespan():
        assert (await Client(app, "till").say()).outcome == "success"
    assert starting.ran == ["tools", "agents"]


async def test_the_first_request_waits_for_them() -> None:
    """A server that tells the app of no start."""
    starting = Starting()
    app = app_that_starts(starting)
    try:
        assert (await Client(app, "till").say()).last["result"] == "paid"
    finally:
        await app._engine.stop()


async def test_one_that_fails_stops_the_start_and_leaves_nothing_behind() -> None:
    """Said in one line; what ran before it is not run again, what it did is."""
    starting = Starting()
    starting.fails = True
    app = app_that_starts(starting)
    with pytest.raises(DeclarationError) as caught:
        async with app.lifespan():
            raise AssertionError("it has not started")
    assert str(caught.value) == ("on_start: Starting.agents failed with OSError: nobody answers")
    assert app.agents == ()
    async with app.lifespan():
        assert starting.ran == ["tools", "agents", "agents"]
        assert (await Client(app, "till").say()).last["result"] == "paid"


async def test_a_copy_of_an_app_starts_by_itself() -> None:
    """What was declared at the start is not copied beside it, whichever started first."""
    starting = Starting()
    app = app_that_starts(starting)
    before = app.replace(store="memory:")
    async with app.lifespan():
        after = app.replace(store="memory:")
        assert after.agents == ()
        assert after.tools_of("till") == ()
        for copy in (before, after):
            async with copy.lifespan():
                assert (await Client(copy, "till").say()).last["result"] == "paid"
    assert starting.ran == ["tools", "agents"] * 3


@pytest.mark.parametrize(
    "on_start", [Starting().tools, [lambda app: None], [3], "start"], ids=["one", "sync", "n", "s"]
)
def test_what_is_no_list_of_async_functions_is_refused(server: Server, on_start: Any) -> None:
    """When it is declared."""
    with pytest.raises(DeclarationError, match="on_start"):
        Sayso(store="memory:", on_start=on_start)
