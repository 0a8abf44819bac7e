"""The run endpoints: `POST /agents/{name}` and `POST /agents/{name}/connect`.

A bare ASGI app: what comes in is decoded here, what goes out is the reader's bytes. What the
request may do is the engine's decision.
"""

import logging
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import Final, get_args
from urllib.parse import parse_qsl

from sayso.agents.registry import Agents
from sayso.base.codes import Code
from sayso.base.errors import Problem, StoreError
from sayso.base.limits import Limits
from sayso.base.options import Client, Emission
from sayso.base.records import Principal
from sayso.engine.dialect import DIALECTS
from sayso.engine.engine import Engine
from sayso.http.asgi import PRINCIPAL, App, Receive, Scope, Send
from sayso.http.body import read_json_body
from sayso.http.errors import method_not_allowed
from sayso.http.options import KeepAlive
from sayso.http.sse import ending, respond
from sayso.protocol.runinput import decode_run_input
from sayso.streams.reader import Reader

_log = logging.getLogger("sayso.http")


_EMISSIONS: Final[dict[str, Emission]] = {value: value for value in get_args(Emission)}
_CLIENTS: Final[dict[str, Client]] = {value: value for value in get_args(Client)}


def emission_of(scope: Scope) -> Emission | None:
    """The emission that the sender wants, by `?interrupts=`; None without it.

    Raises:
        Problem: `invalid_query`, the value is unknown, or there are two that differ.
    """
    return _EMISSIONS.get(_said(scope, "interrupts", _EMISSIONS))


def _client_of(scope: Scope) -> Client | None:
    """The library of the sender's client, by `?client=`; raises as `emission_of`."""
    return _CLIENTS.get(_said(scope, "client", _CLIENTS))


def _said(scope: Scope, parameter: str, values: Iterable[str]) -> str:
    """One of the values of a parameter, or empty if the request has none."""
    query = parse_qsl(scope.get("query_string", b"").decode("latin-1"), keep_blank_values=True)
    said: set[str] = {value for name, value in query if name == parameter}
    if not said:
        return ""
    if len(said) > 1 or not said <= set(values):
        raise Problem(
            Code.INVALID_QUERY,
            f"The parameter {parameter!r} is one of {', '.join(values)}; without it the agent's "
            "option says it.",
        )
    return said.pop()


class RunEndpoint:
    """Takes a `RunAgentInput` for an agent and answers with an event stream."""

    def __init__(
        self,
        engine: Engine,
        agents: Agents,
        *,
        limits: Limits,
        keep_alive: KeepAlive | None,
    ) -> None:
        self._engine = engine
        self._agents = agents
        self._limits = limits
        self._keep_alive = keep_alive

    def find(self, method: str, path: str) -> App | None:
        """The app behind a path, as `asgi.path_of` gives it; None if it is no run endpoint.

        GET and HEAD of the agent's own path read about it: they are not for here.
        """
        match path.split("/"):
            case ["", "agents", name] if name and method not in ("GET", "HEAD"):
                return partial(self._serve, name, "run")
            case ["", "agents", name, "connect"] if name:
                return partial(self._serve, name, "connect")
        return None

    async def _serve(
        self, name: str, action: str, scope: Scope, receive: Receive, send: Send
    ) -> None:
        if self._engine.authorization.asks:
            agent = await self._engine.authorization.agent(self._agents, name, scope[PRINCIPAL])
        else:
            agent = self._agents.require(name)
        if scope["method"] != "POST":
            raise method_not_allowed(*(("GET", "HEAD", "POST") if action == "run" else ("POST",)))
        client = _client_of(scope) or agent.options.client
        dialect, emission = DIALECTS[client], emission_of(scope)
        if emission is not None:
            dialect = replace(dialect, interrupts=emission)
        body = await read_json_body(scope, receive, self._limits.body)
        request = decode_run_input(body, self._limits)
        enter = self._engine.requests.run if action == "run" else self._engine.requests.connect
        principal = scope[PRINCIPAL]
        reader = await enter(name, request, principal, dialect)
        await deliver(
            self._engine,
            reader,
            principal,
            receive,
            send,
            keep_alive=self._keep_alive,
            began=action == "run",
        )


async def deliver(
    engine: Engine,
    reader: Reader,
    principal: Principal,
    receive: Receive,
    send: Send,
    *,
    keep_alive: KeepAlive | None,
    began: bool,
) -> None:
    """Answer with a reader's frames, and note it when the whole body went out.

    `began`: the request may have begun the run; it does not only follow it.
    """
    ends = ending(engine.sign_ins, principal, began=began)
    await respond(reader, receive, send, keep_alive=keep_alive, ends=ends)
    if not reader.delivered:
        return
    try:
        await engine.requests.delivered(reader, principal)
    except StoreError as error:
        # Without the note a retry is answered with the run again, which is safe: so no error.
        _log.warning("the delivery of run %s was not noted: %s", reader.run_key, error)
