"""The other protocols that an app may serve, as `Sayso.mount` takes them."""

from dataclasses import dataclass
from typing import Literal

from sayso.base.errors import DeclarationError
from sayso.base.options import AgentOptions, Emission, check_emission, check_lifetime


@dataclass(frozen=True, slots=True)
class Sessions:
    """The session dialect: each agent behind three plain requests below `path`.

    An app that mounts none serves it at `/api/v1/chat`, unless something else is served there.
    `Sessions(None)` serves it nowhere.
    `ttl` is how many seconds its questions stay open; None: as the agent says.

    Raises:
        DeclarationError: for a `ttl` that is not seconds above zero.
    """

    path: str | None = "/api/v1/chat"
    ttl: float | None = None

    def __post_init__(self) -> None:
        check_lifetime(self.ttl, "ttl of Sessions")


@dataclass(frozen=True, slots=True)
class CopilotKit:
    """The runtime protocol of CopilotKit: `runtimeUrl` is the server with `path`.

    `default` is the agent that pages get when they name none, unless one has that name; None: the
    only agent there is. `refusals` counts instead of the agents' option: CopilotKit's hook cannot
    continue from an error. It cannot answer or cancel a card that is past its `expiresAt` either,
    so questions are shown without one unless `show_expiry`. They expire all the same, and an answer
    that comes too late is refused. `emission` counts instead of the agents' `Legacy.emission`, for
    pages of a CopilotKit that knows only the older event.

    Raises:
        DeclarationError: for an invalid value.
    """

    path: str = "/copilotkit"
    default: str | None = None
    refusals: Literal["error", "recover"] = "recover"
    show_expiry: bool = False
    emission: Emission | None = None

    def __post_init__(self) -> None:
        try:
            AgentOptions(refusals=self.refusals)
            if self.emission is not None:
                check_emission(self.emission, "emission")
        except DeclarationError as error:
            raise DeclarationError(f"CopilotKit: {error}") from None
