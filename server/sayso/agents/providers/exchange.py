"""One request to a model and its reply, whatever the provider. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from sayso.base import jsonvalue
from sayso.base.errors import SaysoError

_ADVICE = {
    400: "it does not take the request: a setting, a tool or the history",
    401: "is the key right?",
    403: "may this key use the model?",
    404: "are base URL and model name right?",
    413: "the request is too large",
    429: "there are too many requests, or no credit",
}
_CODES = frozenset(
    {
        "authentication_error",
        "context_length_exceeded",
        "insufficient_quota",
        "invalid_api_key",
        "invalid_request_error",
        "model_not_found",
        "not_found_error",
        "overloaded_error",
        "permission_error",
        "rate_limit_error",
        "rate_limit_exceeded",
        "request_too_large",
        "server_error",
    }
)
"""Codes of errors that may be told: the rest of a body may hold anything, a key as well."""


class ProviderError(SaysoError):
    """A provider that did not answer, or whose answer broke off.

    Its text names `host` and `status` (None: there was no answer), and never what was sent or came
    back. `code` is told if it is one of the few that providers have in common.
    """

    def __init__(
        self, host: str, status: int | None = None, problem: str = "", *, code: object = None
    ) -> None:
        text = f"{host} answered {status}" if status else host
        if isinstance(code, str) and code in _CODES:
            text += f" ({code})"
        if problem := problem or _ADVICE.get(status or 0, ""):
            text += f": {problem}"
        super().__init__(text)
        self.host = host
        self.status = status


@dataclass(frozen=True, slots=True)
class RequestedCall:
    """A call as a model asks for it; `arguments` is text as it was written, be it JSON or not."""

    id: str
    name: str
    arguments: str

    def object(self) -> dict[str, Any] | None:
        """The arguments; None for what is no JSON object."""
        try:
            decoded = jsonvalue.decode((self.arguments.strip() or "{}").encode())
        except (ValueError, UnicodeEncodeError):
            return None
        return decoded if isinstance(decoded, dict) else None


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer of a model, as it is recorded.

    `finish` is the provider's word for why it ended, `usage` its counts as `Speak.usage` takes
    them. `raw` is for the provider that made it: what has to go back as it came.
    """

    text: str = ""
    calls: tuple[RequestedCall, ...] = ()
    finish: str = ""
    usage: dict[str, int] = field(default_factory=dict)
    raw: Any = None


@dataclass(frozen=True, slots=True)
class Round:
    """A reply of this turn with calls, and what is told of each, in the model's order.

    A result is a text, or a list of content parts as AG-UI has them.
    """

    reply: Reply
    results: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class OfferedTool:
    """A tool that the model may call; `parameters` is a JSON Schema."""

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """All that a model is asked with.

    `messages` are the history as AG-UI has it, `rounds` what came of this turn so far. With a
    `notice` the model is told it at the end, and is to call nothing more.
    """

    model: str
    system: str | None = None
    messages: Sequence[Mapping[str, Any]] = ()
    rounds: Sequence[Round] = ()
    tools: Sequence[OfferedTool] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    notice: str | None = None
    echo_reasoning: bool = False


class Speaks(Protocol):
    """How a model's words reach the conversation while they come."""

    async def text(self, delta: str) -> None:
        """Add to what it says."""

    async def think(
        self, delta: str, encrypted: str | None = None, encrypted_type: str | None = None
    ) -> None:
        """Add to what it thinks."""

    def usage(self, provider: str | None, model: str | None, **counts: int | None) -> None:
        """Count tokens."""


class Provider(Protocol):
    """A client of your own for `turn.chat`."""

    async def reply(self, request: ModelRequest, speak: Speaks) -> Reply:
        """Ask the model once; tell `speak` what it says while it says it."""


def distinct_ids(request: ModelRequest) -> list[list[str]]:
    """The ids of the calls of each round as they go back: none twice, none empty.

    Models use ids again, in a reply or a later one, and may copy one of the history.
    """
    taken = {call["id"] for message in request.messages for call in message.get("toolCalls") or ()}
    rounds = []
    for number, one_round in enumerate(request.rounds):
        ids = []
        for position, call in enumerate(one_round.reply.calls):
            own = call.id
            if not own or own in taken:
                own = f"call_{number}_{position}"
                while own in taken:
                    own += "_"
            taken.add(own)
            ids.append(own)
        rounds.append(ids)
    return rounds
