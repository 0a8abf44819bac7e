"""An agent of a file that is elsewhere: no code, but its URL, headers and who is asked.

spec:
  type: remote_agent
  url: https://partner.example/agent
  headers: {authorization: "Bearer ${PARTNER_TOKEN}"}
  approve: {"pay_*": ask}         # its own calls that it asks about, and those of `tools:`
  again: false                    # a run that was not seen to end may begin again by itself
  silence: 120                    # seconds without a byte after which its stream is broken
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sayso.agents.tools import Tool
from sayso.app import Sayso
from sayso.frameworks.agui.mounting import mount_remote
from sayso.ops.approvals import Approvals
from sayso.ops.yamlfile import Value

REMOTE: Final = "remote_agent"
"""The type of such an agent."""
MEMBERS: Final = ("url", "headers", "approve", "again", "silence")
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
