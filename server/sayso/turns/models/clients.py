"""Clients of providers as `turn.chat` is given them, known by what they have: no SDK is imported.

Errors of theirs become `ProviderError`: their own texts hold bodies, and bodies may hold a key.
"""

import inspect
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, cast
from urllib.parse import urlsplit

from sayso.agents.providers import anthropic, completions
from sayso.agents.providers.anthropic import MessagesReader
from sayso.agents.providers.completions import CompletionsReader, read
from sayso.agents.providers.exchange import ModelRequest, Provider, ProviderError, Reply, Speaks
from sayso.base.errors import DeclarationError

_TRANSPORTS = ("anthropic", "httpcore", "httpcore2", "httpx", "httpx2", "openai")
"""Packages whose errors are about the exchange, and not about the code that began it."""

Reader = CompletionsReader | MessagesReader


def provider_of(client: Any) -> Provider:
    """The provider behind a client.

    Raises:
        DeclarationError: a client that is none of the known kinds, or a synchronous one.
    """
    if callable(getattr(client, "reply", None)):
        return cast("Provider", client)
    create = read(read(read(client, "chat"), "completions"), "create")
    if callable(create):
        _check_async(client, create)
        return _Streamed(client, create, completions.body_of, CompletionsReader)
    create = read(read(client, "messages"), "create")
    if callable(create):
        _check_async(client, create)
        return _Streamed(client, create, anthropic.body_of, MessagesReader)
    raise DeclarationError(
        f"turn.chat takes an AsyncOpenAI, an AsyncAnthropic, a sayso.providers.Completions or an "
        f"object with `async def reply(request, speak)`, not a {type(client).__name__}"
    )


def _check_async(client: Any, create: Any) -> None:
    function = inspect.unwrap(create)
    if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        getattr(type(function), "__call__", None)  # noqa: B004 - the method itself is wanted
    ):
        return
    name = type(client).__name__
    raise DeclarationError(
        f"turn.chat needs a client that is awaited: use Async{name} in place of {name}, with the "
        "same arguments; a synchronous one would hold up every other run"
    )


class _Streamed:
    """An SDK's client, or another with its methods."""

    def __init__(
        self,
        client: Any,
        create: Callable[..., Any],
        body_of: Callable[[ModelRequest], dict[str, Any]],
        reader: Callable[[], Reader],
    ) -> None:
        self._create, self._body_of, self._reader = create, body_of, reader
        self._host = host_of(str(getattr(client, "base_url", "") or ""))

    async def reply(self, request: ModelRequest, speak: Speaks) -> Reply:
        """Ask once, and tell what comes while it comes."""
        reader, name = self._reader(), self._host
        try:
            async with self._stream(self._body_of(request)) as chunks:
                async for chunk in chunks:
                    for kind, piece in reader.take(chunk):
                        await _tell(speak, kind, piece)
            return reader.reply(name)
        except Exception as error:
            if (public := _as_provider_error(error, name)) is None:
                raise
            raise public from None
        finally:
            if reader.usage:
                speak.usage(provider_name(name), request.model, **reader.usage)

    @asynccontextmanager
    async def _stream(self, body: dict[str, Any]) -> AsyncIterator[Any]:
        """The stream of a request, closed whatever happens: the provider stops writing then."""
        stream = await self._create(**body)
        try:
            yield stream
        finally:
            close = getattr(stream, "close", None) or getattr(stream, "aclose", None)
            closing = close() if callable(close) else None
            if inspect.isawaitable(closing):
                await closing


async def _tell(speak: Speaks, kind: str, piece: str) -> None:
    match kind:
        case "text":
            await speak.text(piece)
        case "thought":
            await speak.think(piece)
        case "sealed":
            await speak.think("", piece, "anthropic.thinking")
        case "redacted":
            await speak.think("", piece, "anthropic.redacted_thinking")


def _as_provider_error(error: Exception, host: str) -> ProviderError | None:
    """Tell what everybody may know of an error; None for one that is not about the exchange."""
    if isinstance(error, ProviderError):
        return error
    packages = {kind.__module__.partition(".")[0] for kind in type(error).__mro__}
    if packages.isdisjoint(_TRANSPORTS):
        return None
    status = getattr(error, "status_code", None)
    code = getattr(error, "code", None) or getattr(error, "type", None)
    if isinstance(status, int):
        return ProviderError(host, status, code=code)
    return ProviderError(host, problem=f"the answer broke off ({type(error).__name__})", code=code)


def host_of(url: str) -> str:
    """Who a URL leads to, without a password: `api.openai.com`, `127.0.0.1:8080`."""
    return urlsplit(url).netloc.rpartition("@")[2] or "the provider"


def provider_name(host: str) -> str:
    """The name under which tokens are counted: that of the well-known ones, else the host."""
    for name in ("openai", "anthropic"):
        if host == f"{name}.com" or host.endswith(f".{name}.com"):
            return name
    return host
