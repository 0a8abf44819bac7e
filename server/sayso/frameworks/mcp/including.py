"""A server of the Model Context Protocol, whose tools an app lists as it starts: `include(url)`.

A call of one is made in rounds, and each round is a step. What the server asks becomes questions of
the turn; the next round carries the answers and the server's own state, days later and from another
process.
"""

import asyncio
import base64
import logging
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

from mcp import StdioServerParameters
from mcp.client.client import Client
from mcp.shared.exceptions import MCPError
from mcp_types import (
    CONNECTION_CLOSED,
    REQUEST_TIMEOUT,
    AudioContent,
    BlobResourceContents,
    CallToolResult,
    ElicitResult,
    EmbeddedResource,
    ImageContent,
    InputRequiredResult,
    ResourceLink,
    TextContent,
)
from mcp_types import Tool as ListedTool
from pydantic_core import to_json

from sayso import (
    Answer,
    DeclarationError,
    OutcomeUnknown,
    Question,
    Sayso,
    Told,
    Tool,
    ToolFailed,
    Turn,
    approval,
    current_call,
    parts,
)
from sayso.frameworks.policies import Policies, check_names, check_policies

_log = logging.getLogger("sayso.mcp")

ROUNDS: Final = 20
"""Rounds of one call after which a server is told that it asks too much."""
_LONGEST_WAIT_S: Final = 5.0
_LOST: Final = (CONNECTION_CLOSED, REQUEST_TIMEOUT)
"""Codes that the client gives by itself: the server has not answered."""


@dataclass(frozen=True)
class Server:
    """A server: its name in records and on cards, and how a client of it is made."""

    label: str
    connect: Callable[..., Client]


@dataclass(frozen=True)
class RemoteTool:
    """A tool of a server; `repeats`: the server says that a call may be made again."""

    server: Server
    name: str
    repeats: bool

    async def call(
        self, turn: Turn, arguments: Mapping[str, Any], shown: Mapping[str, Any]
    ) -> Told[Any]:
        """Make the call, and ask people what the server asks; `shown` are its arguments for them.

        Raises:
            ToolFailed: the server says that it failed, or cannot be asked.
        """
        responses: dict[str, dict[str, Any]] = {}
        early: dict[str, dict[str, Any]] = {}
        state: str | None = None
        for number in range(ROUNDS):
            sent = _Round(self, dict(arguments), responses, state, early, number)
            step = turn.step.options(
                name=f"mcp {self.server.label}/{self.name}",
                idempotent=self.repeats,
                shown=f"{self.name} of {self.server.label}",
                arguments=shown,
            )
            record = await step(sent.go)
            kind = record.get("kind") if isinstance(record, dict) else None
            if kind == "failed":
                raise ToolFailed(record["text"])
            if kind == "asked":
                answers = await self._ask(turn, record, shown)
                if record["early"]:
                    early = early | answers
                else:
                    responses, state = answers, record["state"]
            elif kind == "result":
                return told(CallToolResult.model_validate(record["result"]))
            else:  # a person says what came of it
                text = record if isinstance(record, str) else to_json(record).decode()
                return Told(record, text)
        raise ToolFailed(f"{self.server.label} asked {ROUNDS} times and gave no result")

    async def _ask(
        self, turn: Turn, record: Mapping[str, Any], shown: Mapping[str, Any]
    ) -> dict[str, dict[str, Any]]:
        """The answers of people to what the server asks, by its keys.

        Those who had to approve the call say what else it needs: it does that on their word.

        Raises:
            ToolFailed: the server leads to an address that is not taken, or what others answer was
                taken back.
        """
        label, requests = self.server.label, record["requests"]
        about = {"mcp": {"server": label, "tool": self.name, "arguments": dict(shown)}}
        who = current_call().deciders
        # Releases before asked for a URL in a form as well, and their turns go on with that.
        elsewhere = record.get("elsewhere", False)
        forms = {
            key: request
            for key, request in requests.items()
            if "schema" in request or not elsewhere
        }
        questions = [
            Question(
                reason="mcp:elicitation",
                message=request["message"],
                schema=request.get("schema", bool),
                metadata=about,
                approvers=who,
            )
            for request in forms.values()
        ]
        put = await turn.interrupt_all(questions) if questions else ()
        answers: dict[str, Answer[Any]] = dict(zip(forms, put, strict=True))
        for key, request in requests.items():
            if key in forms:
                continue
            self._check_answered(answers, who)
            try:
                answers[key] = await turn.ask_elsewhere(
                    request["url"], request["message"], metadata=about, approvers=who
                )
            except ValueError:
                raise ToolFailed(f"{label} leads to an address that is not taken here") from None
        if elsewhere:
            self._check_answered(answers, who)
        return {
            key: _answered(answer, with_url="url" in requests[key])
            for key, answer in answers.items()
        }

    def _check_answered(self, answers: Mapping[str, Answer[Any]], who: approval.Approvers) -> None:
        """Raise `ToolFailed` where others answer and somebody took a question back.

        Its requester can do that, and the server would go on with it as with their no.
        """
        if not who.owners and any(answer.status == "cancelled" for answer in answers.values()):
            raise ToolFailed(f"a question of {self.server.label} was taken back")


@dataclass
class _Round:
    """One `tools/call`."""

    tool: RemoteTool
    arguments: dict[str, Any]
    responses: Mapping[str, Mapping[str, Any]]
    state: str | None
    early: Mapping[str, Mapping[str, Any]]
    number: int

    async def go(self) -> Any:
        """Send it; returns what came of it as JSON: a result, questions, or words of a failure."""
        early: dict[str, Any] = {}
        if self.number and not self.responses and not self.early:
            # The server wants to be asked again later, and says nothing of when.
            await asyncio.sleep(min(0.25 * 2**self.number, _LONGEST_WAIT_S))
        sent, result = False, None
        try:
            async with self.tool.server.connect(elicitation_callback=self._elicit(early)) as client:
                sent = True
                result = await client.session.call_tool(
                    self.tool.name,
                    self.arguments,
                    input_responses={
                        key: ElicitResult(**answer) for key, answer in self.responses.items()
                    }
                    or None,
                    request_state=self.state,
                    allow_input_required=True,
                )
        except Exception as error:
            if result is None and not early:
                return self._failure(cause_of(error), sent=sent)
        if early:
            return {"kind": "asked", "early": True, "elsewhere": True, "requests": early}
        if isinstance(result, InputRequiredResult):
            return _asks(result)
        assert isinstance(result, CallToolResult)  # noqa: S101 - there is no third kind
        if result.is_error:
            return _failed(words(result.content) or "the server gave no reason")
        return {"kind": "result", "result": result.model_dump(mode="json", by_alias=True)}

    def _failure(self, error: BaseException, *, sent: bool) -> dict[str, Any]:
        """Words for a failure.

        Raises:
            OutcomeUnknown: nobody knows what came of a call that must not be made again.
        """
        if isinstance(error, MCPError) and error.error.code not in _LOST:
            return _failed(error.error.message)
        # What it says is the log's alone: it may have the address with its password.
        name, server = self.tool.name, self.tool.server.label
        _log.warning("tool %r of MCP server %s failed", name, server, exc_info=error)
        kind = type(error).__name__
        if not sent:
            return _failed(f"the server was not reached, and the call did not begin ({kind})")
        text = f"the connection broke before the server answered ({kind})"
        if self.tool.repeats:
            return _failed(text)
        raise OutcomeUnknown(text)

    def _elicit(self, early: dict[str, Any]) -> Any:
        """Answer older protocols: they ask inside the running call, which cannot wait for days.

        A call that may be made again is given up, and made once the question is answered.
        """

        async def elicit(context: Any, params: Any) -> ElicitResult:
            request = _request(params)
            key = _key(request)
            if key in self.early:
                return ElicitResult(**self.early[key])
            if not self.tool.repeats or _marks_secrets(request.get("schema")):
                return ElicitResult(action="decline")
            early[key] = request
            return ElicitResult(action="cancel")

        return elicit


def _asks(result: InputRequiredResult) -> dict[str, Any]:
    """Read what a server asks between two rounds."""
    requests: dict[str, Any] = {}
    for key, request in (result.input_requests or {}).items():
        if request.method != "elicitation/create":
            return _failed(f"the server asks for {request.method}, which is not offered")
        requests[key] = _request(request.params)
        if _marks_secrets(requests[key].get("schema")):
            return _failed("the server asks for a secret in a form, which nobody is shown here")
    return {
        "kind": "asked",
        "early": False,
        "elsewhere": True,
        "requests": requests,
        "state": result.request_state,
    }


def _request(params: Any) -> dict[str, Any]:
    """A question of a server: its message, and the schema of a form or a URL."""
    if params.mode == "form":
        return {"message": params.message, "schema": dict(params.requested_schema)}
    return {"message": params.message, "url": params.url}


def _key(request: Mapping[str, Any]) -> str:
    """The key of a question in a running call, for its answer: as releases before had it."""
    if "url" in request:
        asks = f"{request['message']}\n\n{request['url']}\n\nHave you done this there?"
        request = {"message": asks, "url": request["url"]}
    return to_json(request).decode()


def _marks_secrets(schema: Any) -> bool:
    """True for a form that has a secret typed, which the protocol forbids."""
    if isinstance(schema, list):
        return any(map(_marks_secrets, schema))
    if not isinstance(schema, dict):
        return False
    marked = schema.get("writeOnly") is True or schema.get("format") == "password"
    return marked or any(map(_marks_secrets, schema.values()))


def _answered(answer: Answer[Any], *, with_url: bool) -> dict[str, Any]:
    """Tell a server of an answer: a person who takes the question back has declined it."""
    if answer.resolved and with_url:
        return {"action": "accept" if answer.value else "decline"}
    if answer.resolved:
        return {"action": "accept", "content": answer.value}
    return {"action": "decline" if answer.status == "cancelled" else "cancel"}


def _failed(text: str) -> dict[str, Any]:
    return {"kind": "failed", "text": text}


def cause_of(error: BaseException) -> BaseException:
    """The first cause of an error: a group stands for what is in it."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def why(error: BaseException) -> str:
    """The first cause of an error, in a line."""
    error = cause_of(error)
    text = str(error).partition("\n")[0]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def told(result: CallToolResult) -> Told[Any]:
    """The value for the agent, structured where the server gives such a one, and what is read."""
    text, value = words(result.content), result.structured_content
    if all(isinstance(item, TextContent) for item in result.content):
        return Told(text if value is None else value, text)
    shown = [_part(item) for item in result.content]
    if value is None:
        value = [part.model_dump(mode="json", by_alias=True) for part in shown]
    return Told(value, shown)


def words(content: Sequence[Any]) -> str:
    """The text of what a tool returns, each on lines of its own."""
    return "\n".join(item.text for item in content if isinstance(item, TextContent))


def _part(item: Any) -> parts.Part:
    if isinstance(item, ImageContent):
        return parts.image(data=base64.b64decode(item.data), mime_type=item.mime_type)
    if isinstance(item, AudioContent):
        return parts.audio(data=base64.b64decode(item.data), mime_type=item.mime_type)
    if isinstance(item, ResourceLink):
        return parts.document(url=str(item.uri), mime_type=item.mime_type)
    if isinstance(item, EmbeddedResource):
        resource = item.resource
        if isinstance(resource, BlobResourceContents):
            kind = resource.mime_type or "application/octet-stream"
            return parts.document(data=base64.b64decode(resource.blob), mime_type=kind)
        return parts.text(resource.text)
    return parts.text(item.text if isinstance(item, TextContent) else f"[{item.type}]")


def include(
    server: str | StdioServerParameters | Callable[..., Client],
    *,
    approve: approval.Policy | Mapping[str, approval.Policy] | None = None,
    prefix: str = "",
    only: Collection[str] | None = None,
    agent: str | None = None,
) -> Callable[[Sayso], Awaitable[None]]:
    """Serve the tools of an MCP server, listed when the app starts: `Sayso(on_start=[include(…)])`.

    - `server`: its URL, a command (`StdioServerParameters`), or a function that makes a `Client` of
      the options that it is called with, for headers and transports of your own.
    - `approve`: the policy of all its tools, or policies by a tool's name or a pattern. A tool that
      none is for asks; one that only reads, as the server says, is decided about by the app's
      `default_approval`.
    - `prefix`: stands in front of the names of the tools here.
    - `only`: the tools that are served, by the server's names; all by default.
    - `agent`: the one agent that has them; all by default.

    What is returned raises `DeclarationError` for a server that is not reached, and for a name that
    no tool of it has.
    """
    remote = Server(_label(server), _connect(server))

    async def included(app: Sayso) -> None:
        listed = {tool.name: tool for tool in await _listed(remote)}
        named = {} if approve is None or isinstance(approve, approval.Policy) else dict(approve)
        check_policies(remote.label, named)
        check_names(remote.label, [*named, *(only or ())], listed, more=False, log=_log)
        policies = Policies({"*": approve} if isinstance(approve, approval.Policy) else named)
        for name, tool in listed.items():
            if only is None or name in only:
                app.add_tools(_tool(remote, tool, policies, prefix), agent=agent)

    included.__name__ = included.__qualname__ = f"mcp.include({remote.label})"
    return included


def _label(server: object) -> str:
    """The name by which people and records know a server; it says nothing of its paths."""
    if isinstance(server, str):
        return urlsplit(server).netloc.rpartition("@")[2] or server
    return server.command if isinstance(server, StdioServerParameters) else "server"


def _connect(server: str | StdioServerParameters | Callable[..., Client]) -> Callable[..., Client]:
    if callable(server):
        return server

    def connect(**options: Any) -> Client:
        return Client(server, **options)

    return connect


async def _listed(server: Server) -> list[ListedTool]:
    """All tools of a server, of all pages."""
    tools: list[ListedTool] = []
    try:
        async with server.connect() as client:
            cursor = None
            while True:
                page = await client.list_tools(cursor=cursor)
                tools += page.tools
                cursor = page.next_cursor
                if cursor is None:
                    return tools
    except Exception as error:
        raise DeclarationError(
            f"the tools of MCP server {server.label} cannot be listed: {why(error)}"
        ) from error


def _tool(server: Server, listed: ListedTool, policies: Policies, prefix: str) -> Tool[..., Any]:
    """A tool of the server as one that a person can be asked about; hints are the server's word."""
    hints = listed.annotations
    reads = hints is not None and hints.read_only_hint is True
    harmless = hints is not None and hints.destructive_hint is False
    repeats = reads or (hints is not None and hints.idempotent_hint is True)
    policy = policies.policy(listed.name, asks=not reads)
    remote = RemoteTool(server, listed.name, repeats)

    async def call(turn: Turn, arguments: Mapping[str, Any]) -> Any:
        return await remote.call(turn, arguments, tool.shown(dict(arguments)))

    tool = Tool.of(
        prefix + listed.name,
        description=listed.description or "",
        parameters={"type": "object", "properties": {}, **listed.input_schema},
        call=call,
        part=True,
        approval=policy,
        editable=policy is None or policy.kind != "never",
        effect="read" if reads else "write" if harmless else "irreversible",
    )
    return tool
