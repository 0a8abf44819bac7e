"""Who reads a run, and how the edge that serves it wants it told. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from sayso.agents.registry import Agent
from sayso.options import Emission, LegacyValue, Options
from sayso.protocol.runinput import RunInput

__all__ = ["Manner", "Peer", "peer_of"]


@dataclass(frozen=True, slots=True)
class Peer:
    """What a reader can take.

    `versioned`: it declared protocol 1.0 or a later minor (TR-13). `subagents`: it can be told
    when inner agents begin and end (SA-12). `expiry`: it is told when questions expire.
    `finishes`: it lets go of what it has answered at a RUN_FINISHED only, so every ending has one
    (CK-07, TR-03). `interrupts` and `value` are how it is asked (LG-13). `warnings` are what it is
    told of its own request, of which something was left out; older clients are told nothing
    (OC-06).
    """

    versioned: bool = False
    subagents: bool = False
    expiry: bool = True
    finishes: bool = False
    interrupts: Emission = "standard"
    value: LegacyValue = "interrupt"
    warnings: tuple[str, ...] = ()

    def warned(self, warnings: Sequence[str]) -> "Peer":
        """The same, told of these too, if it can read it."""
        if not warnings or not self.versioned:
            return self
        return replace(self, warnings=(*self.warnings, *warnings))


@dataclass(frozen=True, slots=True, kw_only=True)
class Manner:
    """How an edge wants its requests answered, beside what they say themselves.

    `channel` is noted with the answers that come by it. `refusals` None: as the agent's option
    says; `problem`: they are raised, before there is a stream. `expiry`: whether clients are told
    when questions expire; some let nobody answer or cancel one that has (CK-06). `lets_go`: whether
    clients can go on after a RUN_ERROR on an answer; those that cannot get a RUN_FINISHED before it
    (LC-04, CK-07). `interrupts` None: they are asked as the agent's option says. `one_by_one`: an
    answer to some of what is open is kept. `once`: an answer that is settled already is refused,
    also when it is equal. `expires_in`: the seconds that questions of its runs stay open where the
    agent says nothing.
    """

    channel: str = "run"
    refusals: Literal["error", "recover", "problem"] | None = None
    expiry: bool = True
    lets_go: bool = True
    interrupts: Emission | None = None
    one_by_one: bool = False
    once: bool = False
    expires_in: float | None = None

    def over(self, options: Options) -> Options:
        """The options of an agent, as they are for requests of this edge."""
        if self.one_by_one:
            options = replace(options, partial="accumulate")
        if self.expires_in is not None and options.expires_in is None:
            options = replace(options, expires_in=self.expires_in)
        return options

    def serves(self, agent: Agent) -> Agent:
        """An agent with its options for requests of this edge."""
        options = self.over(agent.options)
        return agent if options is agent.options else replace(agent, options=options)


def peer_of(request: RunInput, manner: Manner, options: Options) -> Peer:
    """What the sender of a request can take."""
    peer = Peer(
        versioned=request.versioned,
        subagents=request.versioned or options.subagents,
        expiry=manner.expiry,
        finishes=not manner.lets_go and bool(request.resume or request.command),
        interrupts=manner.interrupts or options.interrupts,
        value=options.legacy_value,
    )
    return peer.warned(request.warnings)
