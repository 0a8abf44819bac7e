"""The run endpoints: `POST /agents/{name}` and `POST /agents/{name}/connect`.

A bare ASGI app: what comes in is decoded here, what goes out is the reader's bytes. What the
request may do is the engine's decision.
"""

import logging
from collections.abc import Mapping
from typing import Final, Protocol, get_args
from urllib.parse import parse_qsl

from sayso.errors import Code, Problem, StoreError
from sayso.http.agents import AgentRecord
from sayso.http.asgi import PRINCIPAL, Receive, Scope, Send
from sayso.http.body import read_json_body
from sayso.http.problems import method_not_allowed
from sayso.http.sse import respond
from sayso.keepalive import KeepAlive
from sayso.limits import Limits
from sayso.options import Emission
from sayso.protocol.peers import Manner
from sayso.protocol.runinput import RunInput, decode_run_input
from sayso.records import Principal
from sayso.streams.stream import Reader

__all__ = ["Engine", "RunEndpoint", "deliver", "emission_of"]

_log = logging.getLogger("sayso.http")


class Engine(Protocol):
    """What the edges need of the engine."""

    async def start(self) -> None:
        """Open the store and begin to work; idempotent. Raises StoreUnavailable."""

    async def stop(self) -> None:
        """End in order: readers get their last event; idempotent."""

    async def run(
        self, agent: str, request: RunInput, principal: Principal, manner: Manner = ..., /
    ) -> Reader:
        """Run, resume, replay, attach or refuse; a refusal is a reader too.

        Raises Problem for what is answered without a stream, StoreUnavailable.
        """

    async def connect(
        self, agent: str, request: RunInput, principal: Principal, manner: Manner = ..., /
    ) -> Reader:
        """The thread as one run of snapshots, then live if a run is going on."""

    async def delivered(self, reader: Reader, principal: Principal) -> None:
        """This reader's whole body went out."""


_ACTIONS: Final = ("connect",)
_EMISSIONS: Final[dict[str, Emission]] = {value: value for value in get_args(Emission)}


def emission_of(scope: Scope) -> Emission | None:
    """How the sender wants to be asked, by `?interrupts=`; None when it does not say.

    Problem `invalid_query` for an unknown value, or two that differ.
    """
    query = parse_qsl(scope.get("query_string", b"").decode("latin-1"), keep_blank_values=True)
    wanted = {value for name, value in query if name == "interrupts"}
    if not wanted:
        return None
    if len(wanted) > 1 or not wanted <= _EMISSIONS.keys():
        raise Problem(
            Code.INVALID_QUERY,
            f"The parameter 'interrupts' is one of {', '.join(_EMISSIONS)}; without it the agent's "
            "own way to ask is used.",
        )
    return _EMISSIONS[wanted.pop()]


class RunEndpoint:
    """Takes a `RunAgentInput` for an agent and answers with an event stream."""

    def __init__(
        self,
        engine: Engine,
        agents: Mapping[str, AgentRecord],
        *,
        limits: Limits,
        keep_alive: KeepAlive | None,
    ) -> None:
        self._engine = engine
        self._agents = agents
        self._limits = limits
        self._keep_alive = keep_alive

    @staticmethod
    def takes(path: str) -> bool:
        """Whether a path, as `asgi.path_of` gives it, is a run endpoint when posted to."""
        match path.split("/"):
            case ["", "agents", name]:
                return name != ""
            case ["", "agents", name, action]:
                return name != "" and action in _ACTIONS
        return False

    @staticmethod
    def leaves(scope: Scope, path: str) -> bool:
        """Whether a request for such a path reads about the agent instead of running it."""
        return scope["method"] in ("GET", "HEAD") and path.count("/") == 2

    async def __call__(self, scope: Scope, receive: Receive, send: Send, path: str) -> None:
        """Serve one request; `path` is one that `takes` accepts."""
        _, _, name, *action = path.split("/")
        if name not in self._agents:
            raise Problem(
                Code.UNKNOWN_AGENT, "No agent of that name is served. GET /agents lists them."
            )
        if scope["method"] != "POST":
            raise method_not_allowed(*(("POST",) if action else ("GET", "HEAD", "POST")))
        manner = Manner(interrupts=emission_of(scope))
        body = await read_json_body(scope, receive, self._limits.body)
        request = decode_run_input(body, self._limits)
        enter = self._engine.connect if action else self._engine.run
        principal = scope[PRINCIPAL]
        reader = await enter(name, request, principal, manner)
        await deliver(self._engine, reader, principal, receive, send, keep_alive=self._keep_alive)


async def deliver(
    engine: Engine,
    reader: Reader,
    principal: Principal,
    receive: Receive,
    send: Send,
    *,
    keep_alive: KeepAlive | None,
) -> None:
    """Answer with what a reader gives, and note it when the whole body went out."""
    await respond(reader, receive, send, keep_alive=keep_alive)
    if not reader.delivered:
        return
    try:
        await engine.delivered(reader, principal)
    except StoreError as error:
        # Without the note a retry is answered with the run again, which is safe: so no error.
        _log.warning("the delivery of run %s was not noted: %s", reader.run_key, error)
