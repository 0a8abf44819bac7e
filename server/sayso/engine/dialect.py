"""The dialect of an edge: how its requests are answered, and its clients' profile. Pure."""

from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from sayso.agents.registry import Agent
from sayso.base.options import AgentOptions, Client, Emission
from sayso.base.records import Principal
from sayso.protocol.client_profile import ClientProfile
from sayso.protocol.runinput import RunInput


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """The way in which an edge wants its requests answered, besides what they say themselves."""

    channel: str = "run"
    """Noted with the answers that come through it."""
    refusals: Literal["error", "recover", "problem"] | None = None
    """None: as the agent's option says; `problem`: raised, before there is a stream."""
    show_expiry: bool = True
    """Clients are told when questions expire; some let nobody answer or cancel one then (CK-06)."""
    survives_error: bool = True
    """Clients continue after a RUN_ERROR on an answer; others get a RUN_FINISHED first (CK-07)."""
    releases_first: bool = False
    """Clients get it as soon as answers are stored: they do not survive a connection that is lost
    under the work either (LC-04)."""
    restates: bool = True
    """A run that asks ends with the history; some hang what is asked on the message that they have
    made of the stream, and lose it."""
    pause: float = 0.0
    """Seconds between the beginning of a stream that answers an answer and its ending, if that
    asks."""
    interrupts: Emission | None = None
    """The way in which questions are asked; None: as the agent's option says."""
    accumulate: bool = False
    """An answer to some of what is open is kept."""
    refuse_repeats: bool = False
    """An answer that is settled already is refused, also an equal one."""
    expires_in: float | None = None
    """Seconds that questions of its runs stay open where the agent says nothing."""

    def agent_for(self, agent: Agent) -> Agent:
        """An agent with its options for requests of this edge."""
        options = self.options_for(agent.options)
        return agent if options is agent.options else replace(agent, options=options)

    def options_for(self, options: AgentOptions) -> AgentOptions:
        """The options of an agent for requests of this edge: the only place where they merge."""
        changes: dict[str, Any] = {}
        if self.accumulate:
            changes["partial"] = "accumulate"
        if self.expires_in is not None and options.expires_in is None:
            changes["expires_in"] = self.expires_in
        if self.interrupts not in (None, options.legacy.emission):
            changes["legacy"] = replace(options.legacy, emission=self.interrupts)
        if self.refusals not in (None, "problem"):
            changes["refusals"] = self.refusals
        if not changes or all(getattr(options, name) == value for name, value in changes.items()):
            return options
        return replace(options, **changes)

    def profile_for(
        self, request: RunInput, options: AgentOptions, reader: Principal, received_at: int
    ) -> ClientProfile:
        """The profile of a request's sender; `options` are those for this edge.

        `received_at` is in milliseconds since the epoch.
        """
        answers = bool(request.resume or request.command)
        profile = ClientProfile(
            speaks_v1=request.speaks_v1,
            speaks_v1_1=request.speaks_v1_1,
            subagents=request.speaks_v1 or options.subagents,
            shows_expiry=self.show_expiry,
            finishes_before_error=answers and not self.survives_error,
            releases_first=answers and self.releases_first,
            restates=self.restates,
            pause=self.pause if answers else 0.0,
            interrupts=options.legacy.emission,
            legacy_value=options.legacy.value,
            reader=reader,
            at=received_at,
        )
        return profile.with_warnings(request.warnings) if request.warnings else profile


COPILOTKIT: Final = Dialect(
    channel="copilotkit",
    refusals="recover",
    show_expiry=False,
    survives_error=False,
    releases_first=True,
    pause=0.3,
)
"""The dialect of CopilotKit's hook. After a RUN_ERROR on an answer, or a connection that
was lost under one, it neither shows a card nor takes a message until the page is loaded again
(CK-07, TR-03). A card that has expired by the page's own clock can be neither answered nor
cancelled (CK-06). Its cards leave at RUN_STARTED, and what it is asked comes up at the end: without
a pause in between a page draws both at once, so its card stays as it is, pressed and dead (CL-08).
"""


DIALECTS: Final[dict[Client, Dialect]] = {
    "any": Dialect(),
    "copilotkit": COPILOTKIT,
    # It shows what is asked with the last message of the stream that asks: a second run in one
    # stream, or a history behind it, leaves that without its questions.
    "assistant-ui": replace(
        COPILOTKIT, channel="assistant-ui", releases_first=False, restates=False
    ),
}
"""The dialect of each client, by the name that requests and agents give it."""
