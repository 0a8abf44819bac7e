"""A shop whose clerk is a model: its tools, their effects, and the clients of its provider."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from sayso import Sayso, Told, Turn, approval, parts
from sayso.providers import Completions
from sayso.testing import Conversation, FakeProvider
from sayso.testing.provider import Plan

KEY = "sk-never-told-to-anybody"
Json = dict[str, Any]


def _openai(provider: FakeProvider, **options: Any) -> Any:
    from openai import AsyncOpenAI  # noqa: PLC0415 - the product does not import it either

    return AsyncOpenAI(base_url=provider.url, api_key=KEY, **options)


def _anthropic(provider: FakeProvider, **options: Any) -> Any:
    from anthropic import AsyncAnthropic  # noqa: PLC0415 - the product does not import it either

    return AsyncAnthropic(base_url=provider.root, api_key=KEY, **options)


def _own(provider: FakeProvider, **options: Any) -> Completions:
    retries = options.pop("max_retries", 2)
    return Completions(provider.url, api_key=KEY, retries=retries, **options)


CLIENTS: dict[str, Callable[..., Any]] = {
    "AsyncOpenAI": _openai,
    "Completions": _own,
    "AsyncAnthropic": _anthropic,
}
every_client = pytest.mark.parametrize("client", CLIENTS)


@dataclass
class Shop:
    """An app over a provider, and what its tools did."""

    app: Sayso
    provider: FakeProvider
    effects: list[str] = field(default_factory=list)
    chat: Json = field(default_factory=dict)
    """Arguments of `turn.chat` beside those of the clerk."""

    @property
    def sent(self) -> list[Json]:
        """The messages of the newest request."""
        messages: list[Json] = self.provider.requests[-1].body["messages"]
        return messages


@contextmanager
def shop(client: str, plan: Plan, **options: Any) -> Iterator[Shop]:
    """The shop, while its provider serves a plan."""
    with FakeProvider(plan) as provider:
        yield declared(provider, CLIENTS[client](provider, **options))


def declared(provider: FakeProvider, client: Any, store: str = "memory:") -> Shop:
    """The shop's app over a client."""
    app = Sayso(store=store)
    made = Shop(app, provider)

    @app.tool(effect="read")
    async def order_status(order_id: str) -> str:
        """Look an order up."""
        made.effects.append(f"status {order_id}")
        return f"{order_id} is paid"

    @app.tool(approval=approval.always, editable=True)
    async def issue_refund(order_id: str, amount: float) -> str:
        """Refund an order."""
        made.effects.append(f"refund {order_id} {amount:g}")
        return f"refunded {amount:g} for {order_id}"

    @app.tool(effect="read")
    async def photograph(order_id: str) -> list[parts.Part]:
        """Take a picture of an order."""
        return [parts.text(f"This is {order_id}."), parts.image(data=b"png", mime_type="image/png")]

    @app.tool(effect="read")
    async def scan(order_id: str) -> Told[int]:
        """Scan an order; its pages are counted, and seen."""
        seen = [
            parts.text(f"Scan of {order_id}."),
            parts.image(data=b"jpg", mime_type="image/jpeg"),
        ]
        return Told(1, seen)

    @app.tool(complete=True)
    async def book(town: str, nights: int) -> str:
        """Book a room."""
        made.effects.append(f"book {town} {nights}")
        return f"{nights} nights in {town}"

    tools = [order_status, issue_refund, photograph, scan, book]

    @app.agent("clerk")
    async def clerk(turn: Turn) -> str:
        """Answers with a model."""
        arguments = {"tools": tools, "system": "You are a clerk.", **made.chat}
        return await turn.chat(client, model="fake-1", **arguments)

    return made


def talk(made: Shop, **options: Any) -> Conversation:
    """A conversation with the clerk."""
    return Conversation(made.app, "clerk", **options)


def results_sent(messages: list[Json]) -> dict[str, Any]:
    """The results in a request by the id of their call, of either protocol."""
    results: dict[str, Any] = {}
    for message in messages:
        if message["role"] == "tool":
            results[message["tool_call_id"]] = message["content"]
        elif isinstance(message["content"], list):
            blocks = [block for block in message["content"] if block["type"] == "tool_result"]
            results |= {block["tool_use_id"]: block["content"] for block in blocks}
    return results


def calls_sent(messages: list[Json]) -> list[str]:
    """The ids of the calls in a request, of either protocol, in order."""
    ids = [call["id"] for message in messages for call in message.get("tool_calls") or ()]
    blocks = [
        block
        for message in messages
        if message["role"] == "assistant" and isinstance(message["content"], list)
        for block in message["content"]
    ]
    return ids + [block["id"] for block in blocks if block["type"] == "tool_use"]
