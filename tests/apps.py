"""Apps made from options by name, whichever group an option is in."""

from dataclasses import fields
from typing import Any

from sayso import AgentOptions, Sayso, ServerOptions

_SERVER = {field.name for field in fields(ServerOptions)}
_AGENT = {field.name for field in fields(AgentOptions)}


def app_with(**options: Any) -> Sayso:
    """A `Sayso` of these options; the rest are its own arguments."""
    return Sayso(
        server=ServerOptions(**{n: v for n, v in options.items() if n in _SERVER}),
        agent_defaults=AgentOptions(**{n: v for n, v in options.items() if n in _AGENT}),
        **{n: v for n, v in options.items() if n not in _SERVER | _AGENT},
    )
