"""Models behind HTTP: the least client of chat completions, and what a client of your own gets.

    client = Completions("http://127.0.0.1:11434/v1")
    await turn.chat(client, model="qwen3", tools=[list_invoices], messages=last(100))

An SDK's client does as well: `AsyncOpenAI`, `AsyncAnthropic`. This one needs httpx, the extra
`client`.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from sayso.agents.providers.exchange import (
    ModelRequest,
    OfferedTool,
    Provider,
    ProviderError,
    Reply,
    RequestedCall,
    Round,
    Speaks,
)
from sayso.agents.providers.history import last
from sayso.base import jsonvalue
from sayso.base.errors import DeclarationError
from sayso.turns.models.clients import host_of

if TYPE_CHECKING:
    import httpx

__all__ = [
    "Completions",
    "ModelRequest",
    "OfferedTool",
    "Provider",
    "ProviderError",
    "Reply",
    "RequestedCall",
    "Round",
    "Speaks",
    "last",
]

_AGAIN: Final = frozenset({408, 409, 425, 429})
_MAX_WAIT: Final = 60.0
_MAX_EVENT: Final = 10 * 1024 * 1024
_MAX_ERROR: Final = 64 * 1024


class Completions:
    """A client of chat completions at a base URL, such as `https://api.openai.com/v1`.

    - `api_key`: sent as a bearer token; local servers need none.
    - `headers`: sent with each request.
    - `retries`: how often a request is sent again that was refused for now (408, 409, 425, 429,
      5xx) or found nobody. It waits as long as `Retry-After` says, up to a minute, or half a
      second, doubled each time. Nothing is sent again once an answer has begun.
    - `silence`: seconds without a byte after which an answer counts as broken.

    Raises:
        DeclarationError: a URL or a key that cannot be sent, or httpx is missing.
    """

    def __init__(
        self,
        base_url: str,
        *,
        api_key: str | None = None,
        headers: Mapping[str, str] | None = None,
        retries: int = 2,
        silence: float = 120.0,
    ) -> None:
        self.base_url: str = _checked_url(base_url)
        self.host: str = host_of(self.base_url)
        self._headers = dict(headers or {})
        if key := (api_key or "").strip():
            self._headers["authorization"] = f"Bearer {key}"
        for name, value in self._headers.items():
            if not (value.isascii() and value.isprintable()):
                # Its value is a secret, and the error that the client would raise shows it.
                raise DeclarationError(
                    f"the header {name!r} of Completions holds what no header can: a line break, "
                    "or a letter beyond ASCII"
                )
        self._retries, self._silence = retries, silence
        self._httpx = _httpx()
        self._tls = self._httpx.create_ssl_context()

    def __repr__(self) -> str:
        """The client without its key."""
        return f"Completions({self.host!r})"

    @property
    def chat(self) -> "Completions":
        """Where SDKs have `completions`."""
        return self

    @property
    def completions(self) -> "Completions":
        """Where SDKs have `create`."""
        return self

    async def create(self, **request: Any) -> AsyncIterator[Any]:
        """Send a request; the chunks of its answer come while they are iterated.

        Raises:
            ProviderError: (also while iterating) there is no answer, or it broke off.
        """
        return self._chunks(jsonvalue.encode(request))

    async def _chunks(self, body: bytes) -> AsyncIterator[Any]:
        httpx = self._httpx
        headers = {"content-type": "application/json", **self._headers}
        timeout = httpx.Timeout(self._silence, connect=10.0)
        async with httpx.AsyncClient(timeout=timeout, trust_env=True, verify=self._tls) as http:
            url = f"{self.base_url}/chat/completions"
            for attempt in range(self._retries + 1):
                wait = 0.5 * 2**attempt
                try:
                    async with http.stream("POST", url, content=body, headers=headers) as response:
                        if response.status_code == 200:
                            async for chunk in self._read(response):
                                yield chunk
                            return
                        wait = _wait(response.headers.get("retry-after"), wait)
                        status = response.status_code
                        passing = status in _AGAIN or status >= 500
                        if not passing or attempt == self._retries or wait > _MAX_WAIT:
                            raise ProviderError(self.host, status, code=await _code(response))
                except (httpx.ConnectError, httpx.ConnectTimeout) as error:
                    if attempt == self._retries:
                        problem = f"nobody answers there ({type(error).__name__})"
                        raise ProviderError(self.host, problem=problem) from None
                except httpx.TransportError as error:
                    raise self._broken(type(error).__name__) from None
                await asyncio.sleep(wait)

    async def _read(self, response: "httpx.Response") -> AsyncIterator[Any]:
        """The chunks of an answer, whole ones too.

        Raises:
            ProviderError: an error in the stream, or something that is no answer at all.
        """
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind == "application/json":
            yield self._decoded(await response.aread())
            return
        if kind != "text/event-stream":
            problem = f"the answer is {kind or 'of no type'}: does the base URL lead to an API?"
            raise ProviderError(self.host, problem=problem)
        try:
            async for data in _events(response.aiter_bytes()):
                if data == b"[DONE]":
                    return
                yield self._decoded(data)
        except _TooLong:
            raise self._broken("an event is too long") from None

    def _decoded(self, data: bytes) -> Any:
        try:
            chunk = jsonvalue.decode(data)
        except ValueError:
            raise self._broken("it is not JSON") from None
        if not isinstance(chunk, dict):
            raise self._broken("it is no JSON object")
        if problem := chunk.get("error"):
            code = problem.get("code") or problem.get("type") if isinstance(problem, dict) else None
            raise ProviderError(self.host, problem="it reported an error in its answer", code=code)
        return chunk

    def _broken(self, why: str) -> ProviderError:
        return ProviderError(self.host, problem=f"the answer broke off ({why})")


class _TooLong(Exception):
    """An event that no memory should have to hold."""


async def _events(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """The data of each event of a stream, cut wherever it may be; comments are left out."""
    rest = b""
    data: list[bytes] = []
    async for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n")
        if len(rest) > _MAX_EVENT:
            raise _TooLong
        for line in lines:
            text = line.removesuffix(b"\r")
            if text.startswith(b"data:"):
                data.append(text[5:].removeprefix(b" "))
            elif not text and data:
                yield b"\n".join(data)
                data.clear()
    if rest.startswith(b"data:"):
        data.append(rest[5:].removeprefix(b" ").removesuffix(b"\r"))
    if data:
        yield b"\n".join(data)


def _wait(retry_after: str | None, otherwise: float) -> float:
    """Seconds to wait; a date, which few send, is no number of them."""
    try:
        return max(0.0, float(retry_after or otherwise))
    except ValueError:
        return otherwise


async def _code(response: "httpx.Response") -> object:
    """The code of an error, out of a body of which nothing else is told."""
    body = b""
    async for piece in response.aiter_bytes():
        body += piece
        if len(body) > _MAX_ERROR:
            return None
    try:
        problem = jsonvalue.decode(body)["error"]
        return problem.get("code") or problem.get("type")
    except (ValueError, TypeError, KeyError, AttributeError):
        return None


def _checked_url(base_url: object) -> str:
    if not isinstance(base_url, str) or not base_url.strip():
        raise DeclarationError("base_url of Completions is the URL that the provider's docs give")
    url = base_url.strip().rstrip("/")
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise DeclarationError(
            f"base_url of Completions begins with https:// or http:// and names a host: "
            f"{host_of(f'//{url}')!r} does not"
        )
    if parts.query or parts.fragment:
        raise DeclarationError("base_url of Completions has no ? and no #: pass keys by headers=")
    return url.removesuffix("/chat/completions")


def _httpx() -> Any:
    """The module, loaded by whoever uses it."""
    try:
        import httpx  # noqa: PLC0415 - an extra, which only this client needs
    except ImportError:
        raise DeclarationError(
            "sayso.providers.Completions needs httpx: install the extra `client`, or pass an SDK's "
            "client to turn.chat"
        ) from None
    return httpx
