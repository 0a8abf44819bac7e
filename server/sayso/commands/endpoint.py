"""Which address an agent is talked to at, from what the command was given."""

from typing import Any
from urllib.parse import quote, urlsplit

import httpx

from sayso.binding import CannotStart

__all__ = ["endpoint"]

PATIENCE = 10.0
"""Seconds for the server to say which agents it has."""


def endpoint(url: str, agent: str | None, token: str | None) -> tuple[str, str | None]:
    """The endpoint of an agent, and its name where it was found by name or by being the only one.

    Raises `CannotStart` for no address, for a server that cannot be reached or lets nobody in, and
    for an agent that it says it does not have. A server that does not list its agents is believed
    to have the one that is named.
    """
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise CannotStart(f"{url!r} is no address; write one like http://127.0.0.1:8000")
    root = url.rstrip("/")
    if agent is None and parts.path not in ("", "/"):
        return url, None
    listed = _agents(root, token)
    if agent is None and listed is not None and len(listed) == 1:
        agent = listed[0]
    if agent is None:
        which = f" one of {', '.join(listed)}" if listed else " an agent"
        raise CannotStart(f"name{which} with --agent, or give an agent's endpoint as the URL")
    if listed is not None and agent not in listed:
        has = f"it has {', '.join(listed)}" if listed else "it has none"
        raise CannotStart(f"{root} has no agent {agent!r}; {has}")
    return f"{root}/agents/{quote(agent, safe='')}", agent


def _agents(root: str, token: str | None) -> list[str] | None:
    """The names of a server's agents; None where it does not say."""
    headers = {} if token is None else {"authorization": f"Bearer {token}"}
    try:
        answer = httpx.get(f"{root}/agents", headers=headers, timeout=PATIENCE)
    except httpx.HTTPError as error:
        told = str(error) or type(error).__name__
        raise CannotStart(f"{root} gave no answer: {told}") from None
    if answer.status_code in (401, 403):
        raise CannotStart(
            f"{root} does not let you in ({answer.status_code}): give a token by --token or "
            "SAYSO_TOKEN"
        )
    if answer.status_code != httpx.codes.OK:
        return None
    try:
        items: Any = answer.json()["items"]
        return [str(item["name"]) for item in items]
    except (ValueError, LookupError, TypeError):
        return None
