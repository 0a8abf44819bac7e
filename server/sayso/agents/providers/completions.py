"""Chat completions: a request as they take it, and a reply out of the pieces of their stream. Pure.

Pieces are read by name, be they mappings or an SDK's objects.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sayso.agents.providers.exchange import ModelRequest, ProviderError, Reply, RequestedCall
from sayso.agents.providers.history import Media, Said, conversation, parts_of
from sayso.base import jsonvalue

_FORMATS = {
    "audio/mpeg": "mp3",
    "audio/mp3": "mp3",
    "audio/wav": "wav",
    "audio/wave": "wav",
    "audio/x-wav": "wav",
}
"""Sounds that can be given, by media type."""

Piece = tuple[str, str]
"""`text` or `thought`, and what is added to it."""


def body_of(request: ModelRequest) -> dict[str, Any]:
    """The body of a request for a stream; settings that are None are left out."""
    body: dict[str, Any] = {
        "model": request.model,
        "messages": list(_messages(request)),
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    if request.tools and request.notice is None:
        body["tools"] = [
            {
                "type": "function",
                "function": {
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": dict(tool.parameters),
                },
            }
            for tool in request.tools
        ]
    settings = dict(request.settings)
    if "tools" not in body:  # providers refuse what is said about tools without any
        for name in ("tool_choice", "parallel_tool_calls"):
            settings.pop(name, None)
    body |= settings
    return {name: value for name, value in body.items() if value is not None}


def _messages(request: ModelRequest) -> Iterator[dict[str, Any]]:
    if request.system:
        yield {"role": "system", "content": request.system}
    for said in conversation(request):
        if said.role == "assistant":
            yield from _assistant(said, request.echo_reasoning)
        elif said.role == "user":
            yield {"role": "user", "content": _content(said.content)}
        else:
            yield {"role": said.role, "content": said.text}


def _assistant(said: Said, echo_reasoning: bool) -> Iterator[dict[str, Any]]:
    """The words of the model, then the results of its calls, then what no result has room for."""
    if not said.content and not said.calls:
        return
    message: dict[str, Any] = {"role": "assistant", "content": said.text or None}
    if echo_reasoning and said.reasoning:
        message["reasoning_content"] = said.reasoning
    if said.calls:
        message["tool_calls"] = [
            {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}
            for id, name, arguments in said.calls
        ]
    yield message
    beside: list[dict[str, Any]] = []
    for call_id, content in said.results:
        parts = parts_of(content)
        text = "\n".join(part["text"] for part in parts if part["type"] == "text")
        others = [part for part in parts if part["type"] != "text"]
        if others:
            text = text or "The result is in the message behind the results."
            beside += map(_part, others)
        yield {"role": "tool", "tool_call_id": call_id, "content": text or '""'}
    if beside:
        yield {"role": "user", "content": beside}


def _content(parts: Sequence[Mapping[str, Any]]) -> Any:
    """A user's content: a text where it is no more than that."""
    if all(part["type"] == "text" for part in parts):
        return "\n".join(part["text"] for part in parts)
    return [_part(part) for part in parts]


def _part(part: Mapping[str, Any]) -> dict[str, Any]:
    if part["type"] == "text":
        return {"type": "text", "text": part["text"]}
    media = Media.of(part)
    if media.kind == "image" and (media.data or media.url):
        url = media.data_uri if media.url is None else media.url
        return {"type": "image_url", "image_url": {"url": url}}
    if media.kind == "audio" and media.data and media.mime_type in _FORMATS:
        sound = {"data": media.data, "format": _FORMATS[media.mime_type]}
        return {"type": "input_audio", "input_audio": sound}
    if media.kind == "document" and media.data:
        file = {"filename": media.name or "document", "file_data": media.data_uri}
        return {"type": "file", "file": file}
    return {"type": "text", "text": media.described()}


def read(holder: Any, name: str) -> Any:
    """A member by its name, of a mapping or of an object; None if it has none."""
    return holder.get(name) if isinstance(holder, Mapping) else getattr(holder, name, None)


class _Call:
    """A call whose pieces come in."""

    def __init__(self) -> None:
        self.id = ""
        self.name = ""
        self.arguments = ""


class CompletionsReader:
    """Puts a reply together from the chunks of a stream, or from a whole body."""

    def __init__(self) -> None:
        self._text: list[str] = []
        self._thought: list[str] = []
        self._calls: list[_Call] = []
        self._by_index: dict[int, _Call] = {}
        self._finish = ""
        self._usage: dict[str, int] = {}

    def take(self, chunk: Any) -> list[Piece]:
        """Take one chunk; returns what it adds for people to read."""
        if (usage := read(chunk, "usage")) is not None:
            self._usage = _counts(usage) or self._usage
        pieces: list[Piece] = []
        for choice in read(chunk, "choices") or ():
            if read(choice, "index") or 0:
                continue  # of several answers, the first is the one
            self._finish = read(choice, "finish_reason") or self._finish
            delta = read(choice, "delta") or read(choice, "message")
            if delta is not None:
                pieces += self._delta(delta)
        return pieces

    def _delta(self, delta: Any) -> Iterator[Piece]:
        thought = read(delta, "reasoning_content") or read(delta, "reasoning")
        if isinstance(thought, str) and thought:
            self._thought.append(thought)
            yield "thought", thought
        for name in ("content", "refusal"):
            text = read(delta, name)
            if isinstance(text, str) and text:
                self._text.append(text)
                yield "text", text
        for part in read(delta, "tool_calls") or ():
            self._part(part)

    def _part(self, part: Any) -> None:
        """Add a piece of a call; pieces of several come mixed, some without a number."""
        function = read(part, "function")
        call_id, name = read(part, "id") or "", read(function, "name") or ""
        arguments = read(function, "arguments")
        index = read(part, "index")
        call = self._by_index.get(index) if isinstance(index, int) else None
        if index is None and self._calls and not call_id:
            call = self._calls[-1]
        if call is None or (call_id and call.id and call_id != call.id):
            # Some number all calls alike, and give each an id of its own.
            call = _Call()
            self._calls.append(call)
            if isinstance(index, int):
                self._by_index[index] = call
        call.id = call.id or call_id
        if name != call.name:  # some say it again with each piece
            call.name += name
        if isinstance(arguments, Mapping):
            arguments = jsonvalue.encode(dict(arguments)).decode()
        call.arguments += arguments or ""

    def reply(self, host: str) -> Reply:
        """The whole reply.

        Raises:
            ProviderError: the stream ended without saying why: it broke off.
        """
        if not self._finish:
            raise ProviderError(host, problem="the answer broke off, without a finish_reason")
        calls = tuple(RequestedCall(call.id, call.name, call.arguments) for call in self._calls)
        thought = "".join(self._thought)
        raw = {"reasoning": thought} if thought else None
        return Reply("".join(self._text), calls, self._finish, self._usage, raw)

    @property
    def usage(self) -> dict[str, int]:
        """The tokens that were reported so far, also of an answer that broke off."""
        return self._usage


def _counts(usage: Any) -> dict[str, int]:
    prompt, completion = (
        read(usage, "prompt_tokens_details"),
        read(usage, "completion_tokens_details"),
    )
    counts = {
        "input_tokens": read(usage, "prompt_tokens"),
        "output_tokens": read(usage, "completion_tokens"),
        "cached_input_tokens": read(prompt, "cached_tokens"),
        "reasoning_tokens": read(completion, "reasoning_tokens"),
    }
    return {name: count for name, count in counts.items() if isinstance(count, int)}
