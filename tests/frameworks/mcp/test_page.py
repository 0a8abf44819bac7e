"""The page about MCP and the example: as they stand, with a server of ours for the page's."""

import re
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from mcp.client.client import Client
from mcp.server.mcpserver import MCPServer

from sayso import mcp
from sayso.testing import Conversation
from tests.examples.loading import module_of
from tests.frameworks.late import is_loaded_by_its_adapter_alone
from tests.sources import ROOT


def test_the_page_asks_about_what_is_no_mere_look(monkeypatch: pytest.MonkeyPatch) -> None:
    server = MCPServer("shop")

    @server.tool()
    def find_order(order_id: str) -> str:
        """Find an order."""
        return f"{order_id} is here"

    @server.tool()
    def delete_order(order_id: str) -> str:
        """Delete an order."""
        return f"{order_id} is gone"

    include = mcp.include
    urls: list[str] = []

    def ours(url: str, **options: Any) -> Any:
        urls.append(url)
        return include(partial(Client, server), **options)

    monkeypatch.setattr(mcp, "include", ours)
    (block,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "mcp.md").read_text(), re.S)
    page: dict[str, Any] = {"__name__": "page"}
    exec(block, page)  # noqa: S102 - our own page
    assert urls == ["https://shop.example/mcp"]
    with Conversation(page["app"]) as talk:
        assert talk.say("A-17").outcome == "interrupt"
        assert talk.question.approve().text == "A-17 is here"


def test_the_example_asks_twice_and_refunds_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with Conversation(module_of("mcp_tools").app) as talk:
        assert talk.say("hello").text == "Say which order to refund."
        assert talk.say("refund A-17").text == "A-17: 240.00, paid"
        talk.restart()
        talk.question.edit(amount=20.0)
        assert talk.question.message == "Why refund A-17?"
        talk.restart()
        talk.answer({"reason": "broken"})
        assert talk.texts[-1] == "Done: " + talk.results[-1]
        assert "refunded 20.00 for A-17: broken" in talk.results[-1]


def test_the_package_loads_no_framework_until_an_adapter_is_imported() -> None:
    is_loaded_by_its_adapter_alone("mcp", "sayso.mcp")
