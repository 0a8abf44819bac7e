"""`assistant`, the demo's second agent: a real model over the tools of the first, if there is one.

The key is read by the process that serves, from its environment, and nowhere else.
"""

import os
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

from sayso import Sayso, Suggestion, SuggestionRequest, Tool, Turn
from sayso.demo import ops as rows
from sayso.demo.ledger import Ledger
from sayso.demo.settings import Settings
from sayso.demo.tools import Ops
from sayso.ops.binding import CannotStart
from sayso.providers import Completions, last

KEY = "OPENAI_API_KEY"
BASE_URL = "OPENAI_BASE_URL"
DEFAULT_MODEL = "gpt-5-mini"
DEFAULT_BASE_URL = "https://api.openai.com/v1"
_HISTORY = 200
_SYSTEM = (
    "You are the assistant of a small shop. Use your tools to do what you are asked to; people "
    "approve what matters, so never ask for permission yourself. When a call was not executed, say "
    "so with the reason that you were given, and do not repeat it. Answer in a few sentences."
)
_IDEAS = (
    ("Refund an order", "Look up order A-17, and refund 240.00 for it."),
    ("Send three mails", "Send a short mail about our sale to ada, sam and kim at example.com."),
    ("Clean up", "Clean up the old files."),
    ("List files", "How many files are there?"),
)


@dataclass(frozen=True, slots=True)
class ChatModel:
    """The model that the assistant asks: its name, and a client that counts in the ledger."""

    name: str
    client: "CountedCompletions"


class CountedCompletions(Completions):
    """Completions that note each request: what was asked before a crash is not asked again."""

    def __init__(self, ledger: Ledger, base_url: str, api_key: str | None) -> None:
        super().__init__(base_url, api_key=api_key)
        self._ledger = ledger

    async def create(self, **request: Any) -> AsyncIterator[Any]:
        """Send a request, and note that."""
        self._ledger.note_asked()
        return await super().create(**request)


def model_at(*, model: str | None, base_url: str | None, no_model: bool) -> tuple[str, str] | None:
    """The name of the model to ask and its base URL, as options and environment say; or None.

    Raises:
        CannotStart: a model is named, and nothing says where it is.
    """
    if no_model:
        return None
    url = base_url or os.environ.get(BASE_URL)
    if not url and os.environ.get(KEY):
        url = DEFAULT_BASE_URL
    if url:
        return model or DEFAULT_MODEL, url
    if model:
        raise CannotStart(f"--model needs {KEY} in the environment, or --base-url")
    return None


def chat_model(settings: Settings, ledger: Ledger) -> ChatModel | None:
    """The model of these settings and this process's environment; None without one.

    Raises:
        CannotStart: one is named, and nothing says where it is.
        DeclarationError: its URL leads nowhere, or httpx is missing.
    """
    chosen = model_at(model=settings.model, base_url=settings.base_url, no_model=settings.no_model)
    if chosen is None:
        return None
    name, base_url = chosen
    return ChatModel(name, CountedCompletions(ledger, base_url, os.environ.get(KEY)))


def declare_assistant(app: Sayso, ops: Ops, model: ChatModel) -> None:
    """Register the agent: `POST /agents/assistant`."""

    @app.tool
    async def clean_up(turn: Turn) -> str:
        """Clean up old files. Shows a plan, and lets a person choose what is done."""
        await rows.clean_up(turn, ops)
        return "The user has decided, and was told what was done."

    tools: list[Tool[..., Any]] = [
        ops.order_status,
        ops.issue_refund,
        ops.send_email,
        clean_up,
        ops.list_files,
    ]

    async def ideas(request: SuggestionRequest) -> list[Suggestion]:
        return [Suggestion(title, message) for title, message in _IDEAS]

    @app.agent(
        "assistant",
        kind="chat",
        description=f"The shop's assistant, with a model: {model.name} at {model.client.host}.",
        suggest=ideas,
    )
    async def assistant(turn: Turn) -> None:
        await turn.chat(
            model.client,
            model=model.name,
            tools=tools,
            system=_SYSTEM,
            messages=last(_HISTORY),
        )
