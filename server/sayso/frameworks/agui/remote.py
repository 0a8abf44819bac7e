"""An agent behind a URL: one POST for each run, sent again only where it began nothing."""

import asyncio
import logging
import ssl
from asyncio import sleep
from collections.abc import AsyncIterator, Mapping
from typing import Any, Final
from urllib.parse import quote, urlsplit

import httpx
from pydantic_core import from_json, to_json

from sayso import DeclarationError
from sayso.client.bodies import read_async
from sayso.client.frames import Frames
from sayso.frameworks.agui.source import Json, NothingBegan, RunBroke, Source

_log = logging.getLogger("sayso.agui")

TRIES: Final = 3
"""Requests that are sent where those before certainly began nothing."""
CONNECT_S: Final = 10.0
_STREAM: Final = "text/event-stream"
_BUSY: Final = frozenset({429, 503})
_UNSURE: Final = frozenset({408, 500, 502, 504})
"""Statuses of a request that may have begun a run all the same."""
_MAX_WAIT_S: Final = 60.0
_MAX_DETAIL: Final = 500


class RemoteAgent(Source):
    """An endpoint of AG-UI.

    `silence` is how many seconds without a byte count as the end of the stream. `http` is used as
    it is, and not closed; without one each run has its own. `stop` is where a run is stopped: a URL
    in which `{threadId}` and `{runId}` stand for those of the run.

    Raises:
        DeclarationError: for what is no URL of an endpoint.
    """

    def __init__(
        self,
        url: str,
        *,
        http: httpx.AsyncClient | None = None,
        silence: float | None = 120.0,
        stop: str | None = None,
    ) -> None:
        self.host: str = _host(url, "url")
        if stop is not None:
            _host(stop, "stop")
        self._url, self._stop = url, stop
        self._stopping: set[asyncio.Task[None]] = set()
        self._http = http
        self._tls: ssl.SSLContext | bool = httpx.create_ssl_context() if http is None else True
        self._timeout = httpx.Timeout(silence, connect=CONNECT_S)

    def __repr__(self) -> str:
        """The agent without what its URL may hold."""
        return f"RemoteAgent({self.host!r})"

    async def run(self, request: Json, headers: Any = None) -> AsyncIterator[Json]:
        """The events of one run."""
        sent = {**_checked(headers), "accept": _STREAM, "content-type": "application/json"}
        http = self._http or httpx.AsyncClient(verify=self._tls)
        try:
            for attempt in range(TRIES):
                wait = 0.5 * 2**attempt
                try:
                    async with http.stream(
                        "POST",
                        self._url,
                        content=to_json(request),
                        headers=sent,
                        timeout=self._timeout,
                        follow_redirects=False,
                    ) as response:
                        if response.status_code == 200:
                            async for event in self._events(response):
                                yield event
                            return
                        last = attempt == TRIES - 1
                        wait = _wait(response, wait)
                        if response.status_code not in _BUSY or last or wait > _MAX_WAIT_S:
                            await self._refused(response)
                except (httpx.ConnectError, httpx.ConnectTimeout) as error:
                    if attempt == TRIES - 1:
                        raise NothingBegan(
                            f"nobody answers at {self.host} ({type(error).__name__})"
                        ) from None
                await sleep(wait)
        finally:
            if self._http is None:
                await http.aclose()

    def stop(self, request: Json, headers: Any = None) -> None:
        """Post to the URL that stops a run, if there is one."""
        if self._stop is None:
            return
        url = self._stop
        for name in ("threadId", "runId"):
            url = url.replace(f"{{{name}}}", quote(request[name], safe=""))
        body = {"threadId": request["threadId"], "runId": request["runId"]}
        task = asyncio.create_task(self._post(url, body, headers))
        self._stopping.add(task)
        task.add_done_callback(self._stopping.discard)

    async def _post(self, url: str, body: Json, headers: Any) -> None:
        sent = {**_checked(headers), "content-type": "application/json"}
        http = self._http or httpx.AsyncClient(verify=self._tls)
        try:
            response = await http.post(
                url,
                content=to_json(body),
                headers=sent,
                timeout=CONNECT_S,
                follow_redirects=False,
            )
            if not response.is_success:
                _log.warning("%s answered %s to a stop", self.host, response.status_code)
        except httpx.HTTPError as error:
            _log.warning("%s was not told of a stop (%s)", self.host, type(error).__name__)
        finally:
            if self._http is None:
                await http.aclose()

    async def _events(self, response: httpx.Response) -> AsyncIterator[Json]:
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != _STREAM:
            raise RunBroke(f"the answer is {kind or 'of no type'}, and no {_STREAM}")
        frames = Frames()
        async for chunk in response.aiter_bytes():
            for value in frames.take(chunk):
                yield value

    async def _refused(self, response: httpx.Response) -> None:
        """Raise what a status says: that nothing began, or that nobody can tell."""
        status = response.status_code
        said = f"{self.host} answered {status}"
        if status in _UNSURE or status > 504:
            raise RunBroke(said)
        if response.is_redirect:
            raise NothingBegan(f"{said}: a redirect, which is not followed", status)
        detail = _detail(await read_async(response.aiter_bytes()))
        raise NothingBegan(f"{said}: {detail}" if detail else said, status)


def _host(url: object, name: str) -> str:
    """The host of a URL, without what else it may hold."""
    parts = urlsplit(url) if isinstance(url, str) else None
    if parts is None or parts.scheme not in ("http", "https") or not parts.hostname:
        raise DeclarationError(
            f"the {name} of a remote agent is that of its endpoint and begins with https:// or "
            "http://"
        )
    return parts.netloc.rpartition("@")[2]


def _checked(headers: Any) -> dict[str, str]:
    """The headers, none of which an error may show: they hold secrets."""
    checked = {str(name).lower(): str(value) for name, value in dict(headers or {}).items()}
    for name, value in checked.items():
        if not (value.isascii() and value.isprintable()):
            raise NothingBegan(
                f"the header {name!r} holds what no header can: a line break, or a letter beyond "
                "ASCII"
            )
    return checked


def _wait(response: httpx.Response, otherwise: float) -> float:
    """How long the server wants to be left alone, in seconds."""
    try:
        return max(0.0, float(response.headers.get("retry-after", "")))
    except ValueError:
        return otherwise


def _detail(body: bytes) -> str:
    """The words of a problem (RFC 9457), if it has any."""
    try:
        problem = from_json(body)
    except ValueError:
        return ""
    detail = problem.get("detail") if isinstance(problem, Mapping) else None
    return " ".join(detail.split())[:_MAX_DETAIL] if isinstance(detail, str) else ""
