"""The options of the server around its agents: `Sayso(server=ServerOptions(…))`."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, runtime_checkable

from starlette.routing import BaseRoute

from sayso.base.clock import Clock
from sayso.base.errors import DeclarationError
from sayso.base.limits import Limits

_MAX_SIZE_BYTES: Final = 65_536


@dataclass(frozen=True, slots=True)
class KeepAlive:
    """A comment after `seconds` of silence on an open stream, of at least `size` bytes.

    The size is for proxies that hold back short chunks, whatever the headers say: what was sent
    before such a comment comes through with it (M3).

    Raises:
        DeclarationError: an invalid time or size (65,536 bytes at most).
    """

    seconds: float = 15.0
    size: int = 0

    def __post_init__(self) -> None:
        if type(self.seconds) not in (int, float) or not self.seconds > 0:
            raise DeclarationError(
                f"keep_alive must be seconds above zero, or None for never, not {self.seconds!r}"
            )
        if type(self.size) is not int or not 0 <= self.size <= _MAX_SIZE_BYTES:
            raise DeclarationError(
                f"size of KeepAlive is a number of bytes from 0 to {_MAX_SIZE_BYTES}, not "
                f"{self.size!r}"
            )


def keep_alive_of(option: Any) -> KeepAlive | None:
    """The option as it was written: seconds, a `KeepAlive`, or None for never."""
    return option if option is None or isinstance(option, KeepAlive) else KeepAlive(option)


@runtime_checkable
class MakesTracers(Protocol):
    """The source of spans: a `TracerProvider` of OpenTelemetry."""

    def get_tracer(self, instrumenting_module_name: str) -> Any:
        """A `Tracer` for spans of that name."""


_MAX_LEASE_S: Final = 600


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerOptions:
    """The options of the server around its agents.

    | option | values | default |
    |---|---|---|
    | `hosts` | host names served beside loopback | none |
    | `origins` | origins of other sites whose pages may call | none |
    | `insecure_no_auth` | True: without `authenticate` other machines are served as well | False |
    | `limits` | a `Limits` | `Limits()` |
    | `keep_alive` | seconds of silence before a comment, None: never; a `KeepAlive` | 15 |
    | `tool_threads` | threads for synchronous tools and steps; a user gets half | 16 |
    | `lease` | seconds after which a server that died is replaced at its threads | 10 |
    | `metrics` | its readers: `authenticated`, `anybody`, `nobody`, `role:…` | `role:metrics` |
    | `console` | True: the console is served at `/` | True |
    | `routes` | further Starlette routes | none |
    | `clock` | a `Clock` | the system's |
    | `max_unattended` | turns that continue without a client; a user gets half | 8 |
    | `tracing` | spans of OpenTelemetry: True, or a `TracerProvider` | False |

    Raises:
        DeclarationError: for a value that an option does not have. Host names, origins and the
            readers of `metrics` are checked by the `Sayso` that gets them.
    """

    hosts: Sequence[str] = ()
    """Host names served beside loopback: `name`, `*.name`, or `*` when a proxy checks them."""
    origins: Sequence[str] = ()
    """Other origins whose pages may call, `https://app.example.org`; they alone get CORS."""
    insecure_no_auth: bool = False
    """True if other machines are served as well although nobody has to say who they are."""
    limits: Limits = field(default_factory=Limits)
    """Sizes of what may come in."""
    keep_alive: float | KeepAlive | None = 15.0
    """Seconds of silence before a comment keeps a stream open, or a `KeepAlive`; None: never."""
    tool_threads: int = 16
    """Threads for synchronous tools and steps; one user gets half of them."""
    lease: float = 10.0
    """Seconds after which a server that died is replaced at its threads: 1 to 600."""
    metrics: str = "role:metrics"
    """The readers of `/metrics`: `authenticated`, `anybody`, `nobody`, `role:NAME`."""
    console: bool = True
    """True if the console is served at `/`."""
    routes: Sequence[BaseRoute] = ()
    """Further routes of Starlette, behind the same authentication."""
    clock: Clock | None = None
    """The clock; None: the system's."""
    max_unattended: int = 8
    """Turns that continue without a client at the same time in one process; a user gets half."""
    tracing: "bool | MakesTracers" = False
    """Spans of OpenTelemetry: True for the process's own `TracerProvider`, or another one."""

    def __post_init__(self) -> None:
        _check_names(self.hosts, "hosts")
        _check_names(self.origins, "origins")
        if not isinstance(self.limits, Limits):
            raise DeclarationError(f"limits is Limits(body=…, …), not {self.limits!r}")
        keep_alive_of(self.keep_alive)
        _check_count(
            self.tool_threads,
            "tool_threads",
            ": synchronous tools and steps need a thread to run in",
        )
        _check_count(self.max_unattended, "max_unattended")
        if not isinstance(self.tracing, bool | MakesTracers):
            raise DeclarationError(
                f"tracing is True, False or a TracerProvider of OpenTelemetry, not {self.tracing!r}"
            )
        seconds: Any = self.lease
        if type(seconds) not in (int, float) or not 1 <= seconds <= _MAX_LEASE_S:
            raise DeclarationError(
                f"lease must be seconds from 1 to {_MAX_LEASE_S}, not {seconds!r}: a thread is "
                "held for so long after the last word of its server, and renewed three times in "
                "between"
            )

    @property
    def pulse(self) -> KeepAlive | None:
        """The keep-alive with its size; None: never."""
        return keep_alive_of(self.keep_alive)


def _check_names(names: Any, option: str) -> None:
    if isinstance(names, str):
        raise DeclarationError(f"{option} is a list: write [{names!r}]")


def _check_count(number: Any, option: str, why: str = "") -> None:
    if type(number) is not int or number < 1:
        raise DeclarationError(f"{option} must be a whole number from 1, not {number!r}{why}")
