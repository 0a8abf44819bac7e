"""The edge of the client: one HTTP request for each run, by httpx."""

import logging
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from contextlib import aclosing
from types import TracebackType
from typing import Any, Final, Self
from uuid import uuid4

import httpx

from sayso.base import jsonvalue
from sayso.base.clock import Clock, SystemClock
from sayso.base.printable import address
from sayso.client.answers import Answer, entries
from sayso.client.bodies import read_async
from sayso.client.errors import (
    Busy,
    PartialAnswers,
    ProtocolViolation,
    RefusedByServer,
    SignInEnded,
    TooMany,
    Truncated,
    Unreachable,
)
from sayso.client.events import Notes, read_message
from sayso.client.stream import PROTOCOL, Stream
from sayso.client.thread import ThreadState

Json = dict[str, Any]
_LOG = logging.getLogger("sayso.client")
_STREAM: Final = "text/event-stream"
CONNECT_TIMEOUT_S: Final = 10.0
"""Seconds for a connection."""
SILENCE_TIMEOUT_S: Final = 120.0
"""Seconds without a byte, comments included, after which a stream is given up."""


class Client:
    """One thread of one agent, over AG-UI 1.0.

        async with Client("http://127.0.0.1:8000/agents/ops") as client:
            async for event in client.run("refund order A-17"):
                ...
            if client.pending:
                async for event in client.resume({client.pending[0]["id"]: {"approved": True}}):
                    ...

    Events are the protocol's objects as dicts, chunks spelled out, unknown material left out. Every
    event is applied before it is handed on. Leave a run early with `contextlib.aclosing`.
    A `RUN_ERROR` is an event, and `outcome` is then "error"; a broken stream raises. Nothing is
    sent twice by itself; after a failure `pending` is as it was, and `resume` can be called again.
    """

    def __init__(
        self,
        url: str,
        *,
        thread_id: str | None = None,
        token: str | None = None,
        headers: Mapping[str, str] | None = None,
        state: Any = None,
        http: httpx.AsyncClient | None = None,
        clock: Clock | None = None,
        silence: float | None = SILENCE_TIMEOUT_S,
        warn: Callable[[str], None] | None = None,
    ) -> None:
        """`url` is the agent's endpoint; a bearer `token` and `headers` go with every request.

        `http` is used as it is and not closed; without one the client has its own. `clock` is taken
        for the server's; without one the client goes by what the server says (EX-07). `silence` is
        the longest wait for a byte of a stream, in seconds; None waits for ever. `warn` gets what
        was dropped from streams, else the logger `sayso.client` does.
        """
        self.url: str = url.rstrip("/")
        self.thread_id: str = thread_id or f"t-{uuid4().hex}"
        self.run_id: str | None = None
        self._thread = ThreadState(state)
        self._headers = {**(headers or {}), "accept": _STREAM, "content-type": "application/json"}
        if token is not None:
            self.sign_in(token)
        self._own = http is None
        self._http = http or httpx.AsyncClient()
        self._timeout = httpx.Timeout(silence, connect=CONNECT_TIMEOUT_S)
        self._clock = clock or SystemClock()
        self._ahead = 0
        self._trusted = clock is not None
        self._warn = warn or _LOG.warning
        self._busy = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connections, if they are the client's own."""
        if self._own:
            await self._http.aclose()

    def sign_in(self, token: str) -> None:
        """Send this bearer token from the next request on."""
        self._headers["authorization"] = f"Bearer {token}"

    # What the thread holds

    @property
    def messages(self) -> list[Json]:
        """The messages of the thread in the protocol's form, activities among them."""
        return self._thread.messages

    @property
    def state(self) -> Any:
        """The shared state; what is assigned goes with the next request."""
        return self._thread.state

    @state.setter
    def state(self, value: Any) -> None:
        self._thread.state = value

    @property
    def pending(self) -> list[Json]:
        """The open interrupts, all of which the next resume must cover (CL-01)."""
        return self._thread.pending

    @property
    def outcome(self) -> str | None:
        """How the last run ended: success, interrupt, cancelled, error; None if not known."""
        return self._thread.outcome

    @property
    def result(self) -> Any:
        """The `result` of the last run that finished."""
        return self._thread.result

    @property
    def error(self) -> Json | None:
        """The `message`, and the `code` if any, of the RUN_ERROR that ended the last run."""
        return self._thread.error

    def now(self) -> int:
        """The server's time, in milliseconds since the epoch, as far as it is known."""
        return self._clock.now() + self._ahead

    @property
    def refused(self) -> bool:
        """True if the last run was one that the server refused, having changed nothing."""
        return self._thread.refused

    def call(self, call_id: str) -> Json | None:
        """A tool call of the thread by its id, as in `toolCalls` of a message (CL-18)."""
        return self._thread.call(call_id)

    # What it does

    def run(
        self, text: str | None = None, *, messages: Iterable[Json] = (), **parts: Any
    ) -> AsyncGenerator[Json, None]:
        """A run with a new user message, or with new messages of any role; its events as they come.

        `parts` are further members of the request (`tools`, `context`, `forwardedProps`). The
        messages are kept once the agent has begun to answer. Raises `PartialAnswers` while
        interrupts are pending (CL-11), and the errors of `sayso.client.errors`, when it is
        iterated.
        """
        said = [] if text is None else [{"id": f"m-{uuid4().hex}", "role": "user", "content": text}]
        return self._run([*self._fit(messages), *said], None, parts)

    def resume(
        self, answers: Mapping[str, Answer], *, messages: Iterable[Json] = (), **parts: Any
    ) -> AsyncGenerator[Json, None]:
        """Answer every pending interrupt: a JSON value, or `CANCEL`, by interrupt id.

        Raises `PartialAnswers`, `Expired` or `InvalidPayload` before anything is sent, else as
        `run`.
        """
        return self._run(self._fit(messages), dict(answers), parts)

    def connect(self) -> AsyncGenerator[Json, None]:
        """The thread as the server holds it, followed to its end if it is running (CL-10)."""
        return self._exchange(f"{self.url}/connect", [], {})

    async def _run(
        self, new: list[Json], answers: dict[str, Answer] | None, parts: Json
    ) -> AsyncGenerator[Json, None]:
        if answers is not None:
            parts = {**parts, "resume": entries(self.pending, answers, self.now())}
        elif self.pending:
            raise PartialAnswers([each["id"] for each in self.pending], [])
        async with aclosing(self._exchange(self.url, new, parts)) as events:
            async for event in events:
                yield event

    async def _exchange(self, url: str, new: list[Json], parts: Json) -> AsyncGenerator[Json, None]:
        if self._busy:
            raise Busy("a run of this client is going on; follow it to its end or close it first")
        self._busy = True
        try:
            stream = Stream(self._thread)
            body = self._body(new, parts)
            self._thread.begin(self.run_id if url == self.url else None)
            async with aclosing(self._answer(url, body, new, stream)) as events:
                async for event in events:
                    yield event
            if self._thread.signed_out:
                raise SignInEnded("your sign-in has ended: sign in, and connect again")
            if not stream.ended:
                raise Truncated("the body ended before its run did: connect to see how it stands")
        finally:
            self._busy = False

    def _body(self, new: list[Json], parts: Json) -> bytes:
        """A request with a runId that was never used before (LC-19, VN-02, MS-07)."""
        self.run_id = f"r-{uuid4().hex}"
        history = [each for each in self.messages if each["role"] != "activity"]
        body = {
            "tools": [],
            "context": [],
            "forwardedProps": {},
            **parts,
            "threadId": self.thread_id,
            "runId": self.run_id,
            "protocolVersion": PROTOCOL,
            "messages": [*history, *new],
            "state": {} if self.state is None else self.state,
        }
        return jsonvalue.encode(body)

    async def _answer(
        self, url: str, body: bytes, new: list[Json], stream: Stream
    ) -> AsyncGenerator[Json, None]:
        begun = False
        try:
            async with self._http.stream(
                "POST", url, content=body, headers=self._headers, timeout=self._timeout
            ) as response:
                await _accepted(response)
                begun = True
                self.messages.extend(new)
                async for chunk in response.aiter_bytes():
                    for event in stream.take(chunk):
                        self._tell(stream.notes)
                        self._hear(event)
                        yield event
                    self._tell(stream.notes)
        except httpx.TransportError as error:
            text = str(error) or type(error).__name__
            if begun and not stream.ended:
                raise Truncated(
                    f"the stream broke before its run ended ({text}): connect to see how it stands"
                ) from error
            if not begun:
                raise Unreachable(f"{address(url)} gave no answer: {text}") from error

    def _hear(self, event: Json) -> None:
        """Take over what time it is at the server."""
        timestamp = event.get("timestamp")
        if event["type"] == "RUN_STARTED" and isinstance(timestamp, int) and not self._trusted:
            self._ahead = timestamp - self._clock.now()

    def _fit(self, messages: Iterable[Json]) -> list[Json]:
        """Messages as they are sent (FC-11)."""
        notes: Notes = []
        readable = [read_message(each, notes) for each in messages]
        self._tell(notes)
        return readable

    def _tell(self, notes: Notes) -> None:
        for note in notes:
            self._warn(note)
        notes.clear()


async def _accepted(response: httpx.Response) -> None:
    """Go on with a stream of events only (LC-17)."""
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    if response.status_code == httpx.codes.OK:
        if kind != _STREAM:
            raise ProtocolViolation(f"the answer is {kind or 'of no type'}, not {_STREAM}")
        return
    data = await read_async(response.aiter_bytes())
    problem: Any = None
    if kind == "application/json" or kind.endswith("+json"):
        try:
            problem = jsonvalue.decode(data)
        except ValueError:
            problem = None
    reason = response.reason_phrase or "the request was refused"
    members = problem if isinstance(problem, dict) else {}
    if response.status_code == httpx.codes.TOO_MANY_REQUESTS:
        raise TooMany(members, reason, response.headers.get("retry-after"))
    raise RefusedByServer(response.status_code, members, reason)
