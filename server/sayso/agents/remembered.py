"""Remembered approvals: the later calls that a yes covers. Pure.

A pattern is one of:

- `{"kind": "same", "arguments": {…}}`: exactly these, defaults filled in, so that no arguments
  differ from any arguments.
- `{"kind": "any"}`.
- `{"kind": "like", "arguments": {…}, "others": {…}}`: each argument that it names is equal, or is a
  text that matches one with `*` in it (`wildcard`); the others are as they were in the call that
  the yes was given for. `"*"` alone is any value.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sayso.agents.wildcard import matches
from sayso.base import jsonvalue
from sayso.base.clock import MAX_WAIT_S
from sayso.schemas.remember import Remember

Json = dict[str, Any]
_HIDDEN: Final = "is secret, so no pattern can be given for it: leave it out, and it stays the same"


@dataclass(frozen=True, slots=True, kw_only=True)
class RememberRequest:
    """A request to remember a yes: for which arguments, for this thread alone, until when (ms)."""

    pattern: Json
    thread_only: bool
    expires_at: int | None


def parse_request(
    said: Any, offered: Remember, arguments: Json, now: int
) -> RememberRequest | None:
    """Read the member `remember` of an approval; None if nothing is to be remembered.

    `true` means the first of everything that was offered, as does each member that an object leaves
    out. Anything that was not offered was refused before.
    """
    if said is None or said is False:
        return None
    chosen: Mapping[str, Any] = {} if said is True else said
    meant = chosen.get("arguments", _first(offered))
    kind = meant if isinstance(meant, str) else "like"
    pattern: Json = {"kind": kind}
    if kind != "any":
        pattern["arguments"] = arguments if kind == "same" else meant
    if kind == "like":
        pattern["others"] = {n: value for n, value in arguments.items() if n not in meant}
    seconds = [s for s in (chosen.get("seconds"), offered.expires_in) if s is not None]
    return RememberRequest(
        pattern=pattern,
        thread_only=chosen.get("scope", offered.scopes[0]) == "thread",
        expires_at=now + int(min(*seconds, MAX_WAIT_S) * 1000) if seconds else None,
    )


def covers_call(pattern: Mapping[str, Any], arguments: Json) -> bool:
    """True if a remembered pattern covers a call with these effective arguments."""
    kind = pattern.get("kind")
    if kind == "any":
        return True
    if kind == "same":
        return jsonvalue.equal(pattern["arguments"], arguments)
    if kind != "like" or _unlike(pattern["arguments"], arguments):
        return False
    others = {n: value for n, value in arguments.items() if n not in pattern["arguments"]}
    return jsonvalue.equal(pattern.get("others", {}), others)


def errors(
    said: Any, arguments: Json, *, approved: bool, hidden: Collection[str] = ()
) -> Sequence[tuple[str, str]]:
    """List the problems of `remember` in an answer about these arguments, by JSON Pointer.

    A pattern has to cover the very call that it is given for. `hidden` arguments are secret, or
    have a part that is: whoever lists approvals would read it in the pattern.
    """
    if said is None or said is False:
        return ()
    if not approved:
        return [("/remember", "belongs to a yes: leave it out of a denial")]
    meant = said.get("arguments") if isinstance(said, dict) else None
    if not isinstance(meant, dict):
        return ()
    wrong = dict.fromkeys(_unlike(meant, arguments), "does not fit this very call")
    wrong |= {name: _HIDDEN for name in meant if name in hidden}
    return [(f"/remember/arguments{jsonvalue.pointer((n,))}", text) for n, text in wrong.items()]


def _first(offered: Remember) -> str:
    return next((kind for kind in offered.arguments if kind != "like"), "same")


def _unlike(patterns: Mapping[str, Any], arguments: Json) -> list[str]:
    return [
        name
        for name, value in patterns.items()
        if name not in arguments or not _is_like(value, arguments[name])
    ]


def _is_like(pattern: Any, value: Any) -> bool:
    if pattern == "*":
        return True
    if isinstance(pattern, str) and isinstance(value, str):
        return matches(pattern, value)
    return jsonvalue.equal(pattern, value)
