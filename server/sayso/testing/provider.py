"""A provider of models on loopback: real HTTP on a port of its own, and an answer as planned.

    def plan(request: FakeRequest) -> FakeReply:
        if request.results:
            return FakeReply("Done: " + request.results[-1])
        return FakeReply("Let me see.", calls=[FakeCall("order_status", {"order_id": "A-17"})])

    with FakeProvider(plan) as provider:
        client = AsyncOpenAI(base_url=provider.url, api_key="none")

It speaks chat completions and Anthropic's messages, streamed or whole as the request asks. It also
does what real ones get wrong: pieces that are cut anywhere, errors within a stream, a connection
that is closed, a stream that ends early and tidily, silence.
"""

import asyncio
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, NamedTuple, Self

from sayso.base import jsonvalue

Breaks = Literal["closes", "ends", "errs", "hangs"]
"""The connection closes; the body ends as if it were whole; an error is sent in the stream; nothing
more comes until the client leaves."""
_START_S = 10.0
_REASONS = {200: "OK", 400: "Bad Request", 401: "Unauthorized", 404: "Not Found"}
_MAX_HEAD = 64 * 1024


class FakeCall(NamedTuple):
    """A call that the model asks for; `arguments` are a mapping, or text as it would write it.

    `id` is made up if it is None.
    """

    name: str
    arguments: Mapping[str, Any] | str = {}
    id: str | None = None


@dataclass(frozen=True, slots=True)
class FakeReply:
    """One answer of the provider: what the model says, and what goes wrong on the way.

    - `thought`: what it thinks first; `thought_as` is the member that holds it in completions.
    - `refusal`: text that comes as a refusal does.
    - `finish`: the reason of the end, if it is not the one that fits.
    - `usage`: tokens of input and output, None if they are not reported.
    - `status`, `headers`: those of HTTP; any status but 200 has an error for a body.
    - `breaks`: how the stream breaks, once `after` of its events have been sent.
    - `pause`: seconds between two events. A stop of the turn shows in `FakeProvider.left`.
    - `piece`: bytes of each piece that is written, so that JSON and characters are cut.
    - `events`: the events of the stream as they are, instead of all that is above.
    """

    text: str = ""
    calls: Sequence[FakeCall] = ()
    thought: str = ""
    thought_as: Literal["reasoning_content", "reasoning"] = "reasoning_content"
    refusal: str = ""
    finish: str | None = None
    usage: tuple[int, int] | None = (10, 5)
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    breaks: Breaks | None = None
    after: int = 4
    pause: float = 0.0
    piece: int | None = None
    events: Sequence[Any] = ()


@dataclass(frozen=True, slots=True)
class FakeRequest:
    """A request as it came: its path, its headers in lower case, its body."""

    path: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]

    @property
    def is_anthropic(self) -> bool:
        """True for a request of Anthropic's messages."""
        return self.path.endswith("/messages")

    @property
    def text(self) -> str:
        """The newest text of the user."""
        position = self._newest()
        return "" if position is None else _text(self.body["messages"][position])

    @property
    def results(self) -> list[str]:
        """The texts of results of calls behind the newest text of the user, in order."""
        position = self._newest()
        messages: Sequence[Mapping[str, Any]] = self.body["messages"]
        return [
            text
            for message in messages[0 if position is None else position :]
            for text in _results(message)
        ]

    @property
    def tools(self) -> list[str]:
        """The names of the tools that the model is offered."""
        return [tool.get("function", tool)["name"] for tool in self.body.get("tools") or ()]

    def _newest(self) -> int | None:
        said = (
            index
            for index, message in enumerate(self.body["messages"])
            if message["role"] == "user" and _text(message)
        )
        return max(said, default=None)


Plan = Callable[[FakeRequest], FakeReply] | Sequence[FakeReply] | str | Path
"""A function; replies, one for each request, the last for all further ones; or a file of them."""


class FakeProvider:
    """Serves a plan: `with FakeProvider(plan) as provider`.

    A file is a JSON array of objects, each with members of `FakeReply`: `{"events": […]}` is a
    stream that was recorded from a real provider, with keys and ids taken out.

    A plan that raises is answered with status 500, and its first error is raised at the end of the
    `with` block.
    """

    def __init__(self, plan: Plan) -> None:
        self._plan = planned(plan)
        self._lock = threading.Lock()
        self._calls = 0
        self._failed: BaseException | None = None
        self._thread: threading.Thread | None = None
        self._over: Callable[[], None] = lambda: None
        self.requests: list[FakeRequest] = []
        """Every request, in the order in which they came."""
        self.left: int = 0
        """Streams that the client has left before their end."""
        self.root: str = ""
        """The URL that clients of Anthropic are given."""

    @property
    def url(self) -> str:
        """The base URL that clients of chat completions are given."""
        return f"{self.root}/v1"

    def __enter__(self) -> Self:
        """Listen on a port that is free."""
        listening: Future[int] = Future()
        self._thread = threading.Thread(
            target=lambda: asyncio.run(self._serve(listening)), name="fake-provider", daemon=True
        )
        self._thread.start()
        self.root = f"http://127.0.0.1:{listening.result(_START_S)}"
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close every connection and the port, and raise what the plan has raised."""
        assert self._thread is not None  # noqa: S101 - it was entered
        self._over()
        self._thread.join(_START_S)
        if self._failed is not None:
            raise self._failed

    async def _serve(self, listening: "Future[int]") -> None:
        over, loop = asyncio.Event(), asyncio.get_running_loop()
        connections: set[asyncio.Task[Any]] = set()

        def end() -> None:
            loop.call_soon_threadsafe(over.set)

        self._over = end

        async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.current_task()
            assert task is not None  # noqa: S101 - a connection has one
            connections.add(task)
            try:
                await self._exchange(reader, writer)
            except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
                writer.transport.abort()
            finally:
                connections.discard(task)
                writer.close()

        try:
            server = await asyncio.start_server(connected, "127.0.0.1", 0, limit=_MAX_HEAD)
        except OSError as error:
            listening.set_exception(error)
            return
        listening.set_result(server.sockets[0].getsockname()[1])
        await over.wait()
        server.close()
        for task in list(connections):
            task.cancel()
        await asyncio.gather(*connections, return_exceptions=True)

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = await _read(reader)
        with self._lock:
            self.requests.append(request)
        reply = self._reply(request)
        if reply.status != 200:
            await _write_error(writer, reply, request)
            return
        speech = (
            FakeMessages(self._named(reply))
            if request.is_anthropic
            else FakeCompletions(self._named(reply))
        )
        if not request.body.get("stream"):
            await _write_whole(writer, reply, speech.whole())
            return
        await _write_head(writer, reply, "text/event-stream", chunked=True)
        gone = asyncio.create_task(reader.read())  # ends when the client has left
        try:
            await self._stream(_ChunkedBody(writer, reply.piece), reply, speech, gone)
        finally:
            gone.cancel()
            with suppress(asyncio.CancelledError, ConnectionError):
                await gone

    def _reply(self, request: FakeRequest) -> FakeReply:
        try:
            return self._plan(request)
        except BaseException as error:  # what a test raises by `pytest.fail` as well
            self._failed = self._failed or error
            return FakeReply(status=500)

    async def _stream(
        self, body: "_ChunkedBody", reply: FakeReply, speech: "Speech", gone: "asyncio.Task[bytes]"
    ) -> None:
        for number, event in enumerate(speech.events()):
            if reply.breaks is not None and number == reply.after:
                await self._break(body, reply.breaks, speech, gone)
                return
            await body.send(event)
            await asyncio.wait({gone}, timeout=reply.pause)
            if gone.done():
                self._note_left()
                return
        await body.end()

    async def _break(
        self, body: "_ChunkedBody", breaks: Breaks, speech: "Speech", gone: "asyncio.Task[bytes]"
    ) -> None:
        if breaks == "closes":
            body.abort()
        elif breaks == "hangs":
            await asyncio.wait({gone})
            self._note_left()
        else:
            if breaks == "errs":
                await body.send(speech.error())
            await body.end()

    def _note_left(self) -> None:
        with self._lock:
            self.left += 1

    def _named(self, reply: FakeReply) -> "_Named":
        calls = []
        for call in reply.calls:
            with self._lock:
                self._calls += 1
            arguments = call.arguments
            if not isinstance(arguments, str):
                arguments = jsonvalue.encode(dict(arguments)).decode()
            call_id = f"call_{self._calls}" if call.id is None else call.id
            calls.append((call_id, call.name, arguments))
        return _Named(reply, calls)


def planned(plan: Plan) -> Callable[[FakeRequest], FakeReply]:
    """The plan as a function.

    Raises:
        ValueError: a file that holds no replies, or no reply at all.
    """
    if callable(plan):
        return plan
    if isinstance(plan, str | Path):
        read = jsonvalue.decode(Path(plan).read_bytes())
        if not isinstance(read, list):
            raise ValueError(f"{plan} is an array of replies")
        plan = [_reply(members) for members in read]
    if not plan:
        raise ValueError("a plan has one reply at least")
    replies, sent = tuple(plan), iter(plan)
    return lambda _: next(sent, replies[-1])


def _reply(members: Mapping[str, Any]) -> FakeReply:
    calls = [FakeCall(**call) for call in members.get("calls", ())]
    return FakeReply(**{**members, "calls": calls})


def _text(message: Mapping[str, Any]) -> str:
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    return "\n".join(part["text"] for part in content if part["type"] == "text")


def _results(message: Mapping[str, Any]) -> Iterator[str]:
    if message["role"] == "tool":
        yield _text(message)
    elif not isinstance(message.get("content"), str):
        for block in message.get("content") or ():
            if block["type"] == "tool_result":
                yield _text(block)


# What it says, in each protocol


@dataclass(frozen=True, slots=True)
class _Named:
    """A reply, and its calls with id, name and arguments as text."""

    reply: FakeReply
    calls: Sequence[tuple[str, str, str]]


def pieces(text: str, size: int) -> list[str]:
    """The text in pieces of that many characters."""
    return [text[index : index + size] for index in range(0, len(text), size)]


class FakeCompletions:
    """A reply as chat completions have it."""

    def __init__(self, named: _Named) -> None:
        self._reply, self._calls = named.reply, named.calls

    def events(self) -> Iterator[bytes]:
        """The events of the stream, the last of them `[DONE]`."""
        if self._reply.events:
            yield from map(_data, self._reply.events)
        else:
            yield b": a comment, as gateways send them\r\n\r\n"
            yield from map(_data, self._chunks())
        yield b"data: [DONE]\r\n\r\n"

    def _chunks(self) -> Iterator[Any]:
        reply = self._reply
        yield _chunk([])
        yield _chunk([_choice({"role": "assistant", "content": ""})])
        for piece in pieces(reply.thought, 5):
            yield _chunk([_choice({reply.thought_as: piece})])
        for piece in pieces(reply.refusal, 6):
            yield _chunk([_choice({"refusal": piece})])
        for piece in pieces(reply.text, 6):
            yield _chunk([_choice({"content": piece})])
        for index, (call_id, name, _) in enumerate(self._calls):
            function = {"name": name, "arguments": ""}
            begun = {"index": index, "id": call_id, "type": "function", "function": function}
            yield _chunk([_choice({"tool_calls": [begun]})])
        for index, piece in self._mixed():
            more = {"index": index, "function": {"arguments": piece}}
            yield _chunk([_choice({"tool_calls": [more]})])
        yield _chunk([_choice({}, self._finish())])
        if reply.usage is not None:
            yield {**_chunk([]), "usage": self._usage(reply.usage)}

    def _mixed(self) -> Iterator[tuple[int, str]]:
        """Pieces of the arguments of all calls, one of each in turn."""
        lines = [pieces(arguments, 7) for _, _, arguments in self._calls]
        for number in range(max(map(len, lines), default=0)):
            for index, line in enumerate(lines):
                if number < len(line):
                    yield index, line[number]

    def whole(self) -> dict[str, Any]:
        """The reply of a request that wants no stream."""
        reply = self._reply
        message: dict[str, Any] = {"role": "assistant", "content": reply.text or None}
        if reply.thought:
            message[reply.thought_as] = reply.thought
        if reply.refusal:
            message["refusal"] = reply.refusal
        if self._calls:
            message["tool_calls"] = [
                {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}
                for id, name, arguments in self._calls
            ]
        choice = {"index": 0, "message": message, "finish_reason": self._finish()}
        whole = {"id": "chat", "object": "chat.completion", "created": 0, "model": "fake"}
        usage = {} if reply.usage is None else {"usage": self._usage(reply.usage)}
        return {**whole, "choices": [choice], **usage}

    def error(self) -> bytes:
        """An error in the stream."""
        return _data({"error": {"message": "the model is overloaded", "type": "server_error"}})

    def _finish(self) -> str:
        return self._reply.finish or ("tool_calls" if self._calls else "stop")

    def _usage(self, usage: tuple[int, int]) -> dict[str, Any]:
        sent, got = usage
        return {"prompt_tokens": sent, "completion_tokens": got, "total_tokens": sent + got}


class FakeMessages:
    """A reply as Anthropic's messages have it."""

    def __init__(self, named: _Named) -> None:
        self._reply, self._calls = named.reply, named.calls

    def events(self) -> Iterator[bytes]:
        """The events of the stream."""
        for event in self._reply.events or self._events():
            yield b"event: " + event["type"].encode() + b"\n" + _data(event)

    def _events(self) -> Iterator[Any]:
        usage = {"input_tokens": (self._reply.usage or (0, 0))[0], "output_tokens": 1}
        yield {"type": "message_start", "message": self._message([], None, usage)}
        yield {"type": "ping"}
        for index, block in enumerate(self._blocks()):
            yield from self._block(index, block)
        end = {"stop_reason": self._finish(), "stop_sequence": None}
        got = {"output_tokens": (self._reply.usage or (0, 0))[1]}
        yield {"type": "message_delta", "delta": end, "usage": got}
        yield {"type": "message_stop"}

    def _block(self, index: int, block: dict[str, Any]) -> Iterator[Any]:
        empty, deltas = dict(block), []
        match block["type"]:
            case "text":
                empty["text"] = ""
                deltas = [{"type": "text_delta", "text": p} for p in pieces(block["text"], 6)]
            case "thinking":
                empty |= {"thinking": "", "signature": ""}
                deltas = [
                    {"type": "thinking_delta", "thinking": p} for p in pieces(block["thinking"], 5)
                ]
                deltas.append({"type": "signature_delta", "signature": block["signature"]})
            case _:
                empty["input"] = {}
                deltas = [
                    {"type": "input_json_delta", "partial_json": p}
                    for p in pieces(block["input"], 7)
                ]
        yield {"type": "content_block_start", "index": index, "content_block": empty}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}

    def _blocks(self) -> list[dict[str, Any]]:
        """The blocks; the input of a call is the text that the model wrote."""
        blocks: list[dict[str, Any]] = []
        if self._reply.thought:
            thought = {"thinking": self._reply.thought, "signature": "signed"}
            blocks.append({"type": "thinking", **thought})
        if text := self._reply.text or self._reply.refusal:
            blocks.append({"type": "text", "text": text})
        for call_id, name, arguments in self._calls:
            blocks.append({"type": "tool_use", "id": call_id, "name": name, "input": arguments})
        return blocks

    def whole(self) -> dict[str, Any]:
        """The reply of a request that wants no stream."""
        sent, got = self._reply.usage or (0, 0)
        blocks = [
            {**block, "input": jsonvalue.decode(block["input"].encode())}
            if block["type"] == "tool_use"
            else block
            for block in self._blocks()
        ]
        usage = {"input_tokens": sent, "output_tokens": got}
        return self._message(blocks, self._finish(), usage)

    def _message(
        self, content: list[dict[str, Any]], finish: str | None, usage: dict[str, int]
    ) -> dict[str, Any]:
        message = {"id": "msg", "type": "message", "role": "assistant", "model": "fake"}
        end = {"stop_reason": finish, "stop_sequence": None, "usage": usage}
        return {**message, "content": content, **end}

    def error(self) -> bytes:
        """An error in the stream."""
        problem = {"type": "overloaded_error", "message": "the model is overloaded"}
        return b"event: error\n" + _data({"type": "error", "error": problem})

    def _finish(self) -> str:
        return self._reply.finish or ("tool_use" if self._calls else "end_turn")


Speech = FakeCompletions | FakeMessages


def _chunk(choices: list[dict[str, Any]]) -> dict[str, Any]:
    named = {"id": "chat", "object": "chat.completion.chunk", "created": 0, "model": "fake"}
    return {**named, "choices": choices}


def _choice(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    return {"index": 0, "delta": delta, "finish_reason": finish}


def _data(value: Any) -> bytes:
    return b"data: " + jsonvalue.encode(value) + b"\r\n\r\n"


# HTTP


async def _read(reader: asyncio.StreamReader) -> FakeRequest:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = head.split("\r\n")
    headers = {}
    for line in filter(None, lines):
        name, _, value = line.partition(":")
        headers[name.strip().lower()] = value.strip()
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    path = first.split(" ")[1].partition("?")[0]
    return FakeRequest(path, headers, jsonvalue.decode(body or b"{}"))


async def _write_head(
    writer: asyncio.StreamWriter, reply: FakeReply, kind: str, *, chunked: bool = False
) -> None:
    headers = {"content-type": kind, "connection": "close", **reply.headers}
    if chunked:
        headers["transfer-encoding"] = "chunked"
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    reason = _REASONS.get(reply.status, "Status")
    writer.write(f"HTTP/1.1 {reply.status} {reason}\r\n{lines}\r\n".encode("latin-1"))
    await writer.drain()


async def _write_whole(writer: asyncio.StreamWriter, reply: FakeReply, value: Any) -> None:
    await _write_head(writer, reply, "application/json")
    writer.write(jsonvalue.encode(value))
    await writer.drain()


async def _write_error(
    writer: asyncio.StreamWriter, reply: FakeReply, request: FakeRequest
) -> None:
    """An error whose body holds what it should not: the key that came."""
    key = request.headers.get("authorization", "") or request.headers.get("x-api-key", "")
    problem = {"type": "error", "message": f"status {reply.status} for {key}", "code": "fake"}
    await _write_whole(writer, reply, {"type": "error", "error": problem})


class _ChunkedBody:
    """The chunks of a body that is streamed."""

    def __init__(self, writer: asyncio.StreamWriter, size: int | None) -> None:
        self._writer, self._size = writer, size

    async def send(self, data: bytes) -> None:
        """Send an event, in pieces if there is a size for them."""
        size = self._size or len(data)
        for start in range(0, len(data), size):
            piece = data[start : start + size]
            self._writer.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
            await self._writer.drain()

    async def end(self) -> None:
        """End the body."""
        self._writer.write(b"0\r\n\r\n")
        await self._writer.drain()

    def abort(self) -> None:
        """Close the connection in the middle of it."""
        self._writer.transport.abort()
