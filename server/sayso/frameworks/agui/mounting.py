"""Serving agents that are streams of AG-UI events: `mount_events`, `mount_remote` and `run`."""

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from itertools import count
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from sayso import DeclarationError, Sayso, Tool, Turn
from sayso.frameworks.agui.asking import Policies, check_policies
from sayso.frameworks.agui.log import digest, plain
from sayso.frameworks.agui.rounds import Rounds, ServedAgent, Verify
from sayso.frameworks.agui.source import Json, Source

if TYPE_CHECKING:
    import httpx

    from sayso.frameworks.agui.sdk import Produce

Headers = Mapping[str, str] | Callable[[Turn], Mapping[str, str] | Awaitable[Mapping[str, str]]]
AgentFunction = Callable[[Turn], Awaitable[Any]]
_runs: WeakKeyDictionary[Turn, dict[str, Iterator[int]]] = WeakKeyDictionary()
"""The numbers of the runs by name, in the executions that are alive: replay counts them anew."""


def mount_events(
    app: Sayso,
    name: str,
    produce: "Produce",
    *,
    tools: Iterable[Tool[..., Any]] = (),
    approve: Policies | None = None,
    again: bool = False,
    verify: Verify | None = None,
    raw: bool = False,
    **options: Any,
) -> AgentFunction:
    """Serve a function that yields events of AG-UI as `POST /agents/{name}`.

    - `produce`: gets an `ag_ui.core.RunAgentInput` and yields that SDK's events.
    - `tools`: it is told of them; the calls of them that it leaves open are made here, gated, once.
    - `approve`: policies by the name or pattern of its own tools that it asks about.
    - `again`: a run that was begun and not seen to end may begin again by itself; otherwise a
      person is asked.
    - `verify`: an async function of the request that finds out whether such a run has happened:
      `Happened(outcome)` or `DidNotHappen()`.
    - `raw`: RAW events are shown.
    - `options`: those of `Sayso.agent`.

    Raises:
        DeclarationError: something that cannot be served.
    """
    if not callable(produce):
        raise DeclarationError(
            f"mount_events takes a function that yields events of AG-UI, not {produce!r}"
        )
    return _mount(app, name, _producer(produce), tools, None, approve, again, verify, raw, options)


def mount_remote(
    app: Sayso,
    name: str,
    url: str,
    *,
    headers: Headers | None = None,
    tools: Iterable[Tool[..., Any]] = (),
    approve: Policies | None = None,
    again: bool = False,
    verify: Verify | None = None,
    raw: bool = False,
    silence: float | None = 120.0,
    stop: str | None = None,
    http: "httpx.AsyncClient | None" = None,
    **options: Any,
) -> AgentFunction:
    """Serve an agent behind a URL that speaks AG-UI as `POST /agents/{name}`.

    - `headers`: they go with each request; or a function of the turn that makes them.
    - `silence`: seconds without a byte after which a stream counts as broken, None: never.
    - `stop`: a URL that is posted to when a turn is stopped while a run is on; `{threadId}` and
      `{runId}` in it stand for those of the run, as the agent knows them.
    - `http`: used for the requests and not closed; by default each run has a client of its own.
    - the others are those of `mount_events`.

    Raises:
        DeclarationError: something that cannot be served, or httpx is missing.
    """
    source = _remote(url, http, silence, stop)
    return _mount(app, name, source, tools, headers, approve, again, verify, raw, options)


async def run(
    turn: Turn,
    agent: "Produce | str",
    text: str,
    *,
    name: str = "agent",
    headers: Headers | None = None,
    again: bool = False,
) -> Any:
    """Run such an agent, a function or a URL, as a part of a turn; returns its result.

    `name` is what its thread is kept under, from turn to turn: two agents of one thread have two
    names, and each runs once at a time. It has no tools of this server; the others are those of
    `mount_remote`.
    """
    source = _remote(agent) if isinstance(agent, str) else _producer(agent)
    served = ServedAgent(name=name, source=source, headers=_headers(headers), again=again)
    part = f"#{next(_runs.setdefault(turn, {}).setdefault(name, count(1)))}"
    message = {"id": "m-" + digest(turn.key, name, part), "role": "user", "content": text}
    async with turn.at(f"agui:{name}{part}"):
        return await Rounds(turn, served, part).go(message)


def _mount(
    app: Sayso,
    name: str,
    source: Source,
    tools: Iterable[Tool[..., Any]],
    headers: Headers | None,
    approve: Policies | None,
    again: bool,
    verify: Verify | None,
    raw: bool,
    options: Mapping[str, Any],
) -> AgentFunction:
    policies = dict(approve or {})
    check_policies(name, policies)
    own = {tool.name: tool for tool in tools}
    served = ServedAgent(
        name=name,
        source=source,
        tools=own,
        approve=policies,
        headers=_headers(headers),
        again=again,
        verify=verify,
        raw=raw,
    )

    async def serve(turn: Turn) -> Any:
        return await Rounds(turn, served).go(_newest(turn))

    app.add_tools(*own.values(), agent=name)
    app.agent(name, **{"kind": "ag-ui", **options})(serve)
    return serve


def _newest(turn: Turn) -> Json:
    """The message that began the turn, as it is told to the agent."""
    for message in reversed(turn.input.messages):
        if message["role"] == "user":
            newest: Json = plain(message)
            return newest
    return {"id": turn.key, "role": "user", "content": turn.input.text}


def _headers(headers: Headers | None) -> Callable[[Turn], Any] | None:
    if headers is None or callable(headers):
        return headers
    fixed = dict(headers)
    return lambda turn: fixed


def _producer(produce: "Produce") -> Source:
    from sayso.frameworks.agui.sdk import Producer  # noqa: PLC0415 - the SDK takes 0.2 s to load

    return Producer(produce)


def _remote(
    url: str,
    http: "httpx.AsyncClient | None" = None,
    silence: float | None = 120.0,
    stop: str | None = None,
) -> Source:
    try:
        from sayso.frameworks.agui.remote import RemoteAgent  # noqa: PLC0415 - of an extra
    except ModuleNotFoundError as error:
        raise DeclarationError(
            f"a remote agent needs {error.name}: install sayso with the extra client, or "
            "httpx>=0.28"
        ) from None
    return RemoteAgent(url, http=http, silence=silence, stop=stop)
