"""Agents of a file that need no code: a model, or an agent that is elsewhere.

A model, with a system text, settings and tools:

spec:
  type: chat_model_agent
  model: {name: gpt-5-mini, base_url: "https://api.openai.com/v1", api_key: "${OPENAI_API_KEY}"}
  settings: {temperature: 0.2}    # go to the provider as they are
  system: You are a clerk.        # or {file: clerk.md}, beside this file
  rounds: 12
  approve: {"delete_*": ask}      # `ops/approvals` has what may stand here

An agent elsewhere, with its URL, headers and who is asked:

spec:
  type: remote_agent
  url: https://partner.example/agent
  headers: {authorization: "Bearer ${PARTNER_TOKEN}"}
  approve: {"pay_*": ask}         # its own calls that it asks about, and those of `tools:`
  again: false                    # a run that was not seen to end may begin again by itself
  silence: 120                    # seconds without a byte after which its stream is broken
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sayso.agents.approval import Policy
from sayso.agents.tools import Tool
from sayso.app import Sayso
from sayso.base.errors import DeclarationError
from sayso.frameworks.agui.mounting import mount_remote
from sayso.ops.approvals import Approvals
from sayso.ops.yamlfile import Value
from sayso.providers import Completions
from sayso.turns.turn import Turn

CHAT: Final = "chat_model_agent"
"""The type of such an agent."""
_MODEL: Final = ("name", "base_url", "api_key")
_DEFAULT_BASE_URL: Final = "https://api.openai.com/v1"
_DEFAULT_ROUNDS: Final = 12


@dataclass(frozen=True, slots=True)
class ChatSpec:
    """The members of such an agent, as a file has them."""

    client: Completions
    model: str
    system: str | None
    settings: Mapping[str, Any]
    rounds: int
    approvals: Approvals

    @classmethod
    def read(cls, spec: Mapping[str, Value]) -> "ChatSpec | None":
        """Read the members of `spec`; None, and notes, where they are not complete."""
        if "model" not in spec:
            spec["type"].wrong("'model' is missing beside it")
            return None
        client, name = _model(spec["model"])
        rounds = _DEFAULT_ROUNDS
        if "rounds" in spec:
            rounds = spec["rounds"].checked(_is_count, "a whole number from 1") or rounds
        settings = _settings(spec["settings"]) if "settings" in spec else {}
        system = _system(spec["system"]) if "system" in spec else None
        approvals = Approvals.read(spec["approve"]) if "approve" in spec else Approvals()
        if client is None or name is None:
            return None
        return cls(client, name, system, settings, rounds, approvals)

    def tools(self, declared: Sequence[Tool[..., Any]], default: Policy) -> list[Tool[..., Any]]:
        """The agent's own tools: those declared, under what the file says about their calls."""
        return self.approvals.applied(dict.fromkeys(declared), default)

    def agent(self, tools: Sequence[Tool[..., Any]]) -> Callable[[Turn], Awaitable[None]]:
        """The agent's function, over these tools."""
        offered = tuple(tools)

        async def chat(turn: Turn) -> None:
            await turn.chat(
                self.client,
                model=self.model,
                tools=offered,
                system=self.system,
                rounds=self.rounds,
                **self.settings,
            )

        return chat


def _model(where: Value) -> tuple[Completions | None, str | None]:
    members = where.members(_MODEL, required=("name",))
    key = members.pop("api_key", None)
    texts = {name: value.text() for name, value in members.items()}
    if key is not None and not key.is_variable:
        key.wrong("a key is not written out: put it into the environment, as ${OPENAI_API_KEY}")
        return None, texts.get("name")
    base_url = texts.get("base_url") or _DEFAULT_BASE_URL
    try:
        secret = None if key is None else str(key.plain() or "")
        return Completions(base_url, api_key=secret), texts.get("name")
    except DeclarationError as error:
        members.get("base_url", where).wrong(str(error))
        return None, texts.get("name")


def _settings(where: Value) -> dict[str, Any]:
    """Settings by name, of any that a request may have but what the agent itself says."""
    taken = ("model", "messages", "tools", "stream", "system", "rounds", "client", "front_end")
    values: dict[str, Any] = {}
    for name, value in where.any_members():
        if name in taken:
            value.wrong(f"{name!r} is no setting: the agent says it")
        else:
            values[name] = value.value()
    return values


def _system(where: Value) -> str | None:
    """The system text, or that of a file beside the one that names it."""
    if where.is_scalar:
        return where.text()
    members = where.members(("file",), required=("file",))
    name = members["file"].text() if "file" in members else None
    if name is None:
        return None
    path = where.findings.path.parent / name
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is no UTF-8"
        members["file"].wrong(f"{name} cannot be read beside this file: {reason}")
        return None


def _is_count(value: Any) -> bool:
    return type(value) is int and value >= 1


REMOTE: Final = "remote_agent"
"""The type of such an agent."""
REMOTE_MEMBERS: Final = ("url", "headers", "approve", "again", "silence")
_SECRET: Final = ("authorization", "cookie", "key", "secret", "token")
"""Words in the names of headers whose values are not written out."""


@dataclass(frozen=True, slots=True)
class RemoteSpec:
    """The members of such an agent, as a file has them."""

    url: str
    headers: Mapping[str, str]
    approvals: Approvals
    again: bool
    silence: float | None

    @classmethod
    def read(cls, spec: Mapping[str, Value]) -> "RemoteSpec | None":
        """Read the members of `spec`; None, and notes, where they are not complete."""
        if "url" not in spec:
            spec["type"].wrong("'url' is missing beside it")
            return None
        url = spec["url"].text()
        if url is not None and not url.startswith(("https://", "http://")):
            spec["url"].wrong("must begin with https:// or http://")
        headers = _headers(spec["headers"]) if "headers" in spec else {}
        approvals = Approvals.read(spec["approve"]) if "approve" in spec else Approvals()
        again, silence = False, 120.0
        if "again" in spec:
            again = spec["again"].checked(lambda v: isinstance(v, bool), "true or false") is True
        if "silence" in spec:
            silence = spec["silence"].checked(_is_seconds, "seconds above zero")
        return None if url is None else cls(url, headers, approvals, again, silence)

    def mount(
        self, app: Sayso, name: str, tools: Sequence[Tool[..., Any]], arguments: Mapping[str, Any]
    ) -> None:
        """Serve it; `tools` are offered to it and called here.

        Raises:
            DeclarationError: it cannot be served.
        """
        own = self.approvals.applied(tools, app.default_approval, others=True)
        mount_remote(
            app,
            name,
            self.url,
            headers=self.headers,
            tools=own,
            approve=self.approvals.policies([tool.name for tool in own]),
            again=self.again,
            silence=self.silence,
            **arguments,
        )


def _headers(where: Value) -> dict[str, str]:
    headers: dict[str, str] = {}
    for name, value in where.any_members():
        secret = any(word in name.lower() for word in _SECRET)
        if secret and not value.has_variable:
            value.wrong("a secret is not written out: put it into the environment, as ${TOKEN}")
        elif (text := value.text()) is not None:
            headers[name] = text
    return headers


def _is_seconds(value: Any) -> bool:
    return type(value) in (int, float) and 0 < value < 1e9
