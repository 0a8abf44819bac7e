"""Reading protocol objects from peers that are older or newer than this server (FC-01 to FC-12).

What the protocol does not describe is left out with a warning; what it describes and is malformed
is an error; an optional member that is null is absent; camelCase beats snake_case; the retired
`binary` part becomes a media part. Nothing here stops at the first error.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from sayso.base.jsonvalue import pointer

Path = tuple[str | int, ...]
Check = Callable[[Any, Path, "ReadReport"], Any]

DROPPED: Final = object()
"""What a check returns for an element that is left out, or for one that is malformed."""

MAX_ID_CHARS = 512
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f]")
MAX_FINDINGS = 100
"""Errors that one refusal tells."""
MAX_POINTER_CHARS = 200


@dataclass(slots=True)
class ReadReport:
    """What is wrong with a request and what was left out of it; neither holds its values."""

    errors: list[dict[str, str]] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    count: int = 0
    """How many errors there are; the first hundred are kept."""

    def error(self, path: Path, message: str) -> Any:
        """Note a malformed member; returns `DROPPED` so that a check can end with it."""
        self.count += 1
        if len(self.errors) < MAX_FINDINGS:
            self.errors.append({"pointer": pointer(path), "message": message})
        return DROPPED

    def warn(self, path: Path, message: str) -> Any:
        """Note what was left out; returns `DROPPED`."""
        if len(self.warnings) < MAX_FINDINGS:
            self.warnings.append(f"{pointer(path)[:MAX_POINTER_CHARS]!r} {message}")
        return DROPPED


class Shape:
    """The members of one kind of protocol object: a check for each, and which are required."""

    __slots__ = ("checks", "names", "required", "snake")

    def __init__(self, checks: dict[str, Check], required: tuple[str, ...] = ()) -> None:
        self.checks: dict[str, Check] = checks
        self.names: frozenset[str] = frozenset(checks)
        self.required: tuple[str, ...] = required
        self.snake: dict[str, str] = {
            snake: name for name in checks if (snake := _snake(name)) != name
        }

    def read(self, value: Any, path: Path, findings: ReadReport) -> Any:
        """The object with known members only, each as its check returned it."""
        if type(value) is not dict:
            return findings.error(path, "must be an object")
        if value.keys() <= self.names and None not in value.values():
            members = value
        else:
            members = self._known(value, path, findings)
        changed: dict[str, Any] = {}
        checks = self.checks
        for name, item in members.items():
            check = checks[name]
            # Most members of most requests are strings: they are passed without a call.
            if check is text and type(item) is str:
                continue
            result = check(item, (*path, name), findings)
            if result is not item:
                changed[name] = result
        for name in self.required:
            if name not in members:
                findings.error((*path, name), "is required")
        return {**members, **changed} if changed else members

    def _known(self, value: dict[str, Any], path: Path, findings: ReadReport) -> dict[str, Any]:
        members = {}
        for key, item in value.items():
            name = key if key in self.names else self.snake.get(key)
            if name is None or (name != key and name in value):
                findings.warn((*path, key), "is no member of the protocol and was left out")
            elif item is not None:
                members[name] = item
        return members


def _snake(name: str) -> str:
    return re.sub(r"[A-Z]", lambda match: "_" + match[0].lower(), name)


def anything(value: Any, path: Path, findings: ReadReport) -> Any:
    """Any JSON value, untouched (FC-10)."""
    return value


def text(value: Any, path: Path, findings: ReadReport) -> Any:
    """A string."""
    return value if type(value) is str else findings.error(path, "must be a string")


def identifier(value: Any, path: Path, findings: ReadReport) -> Any:
    """A string that can be stored and named: 1 to 512 characters, no NUL."""
    if type(value) is not str:
        return findings.error(path, "must be a string")
    if not 0 < len(value) <= MAX_ID_CHARS or "\0" in value:
        return findings.error(path, f"must have 1 to {MAX_ID_CHARS} characters, none of them NUL")
    return value


def thread_id(value: Any, path: Path, findings: ReadReport) -> Any:
    """An identifier that is part of paths: a client can say no other one there."""
    named = identifier(value, path, findings)
    if type(named) is not str or (named.isprintable() and named not in (".", "..")):
        return named
    if named in (".", "..") or _CONTROL.search(named):
        return findings.error(
            path, "must be no '.' or '..' and have no control characters: it is part of a path"
        )
    return named


def obj(value: Any, path: Path, findings: ReadReport) -> Any:
    """An object, open by key."""
    return value if type(value) is dict else findings.error(path, "must be an object")


def flag(*values: str) -> Check:
    """One of a closed set of strings; another string is malformed (RE-02, FC-03)."""
    listed = " or ".join(f"'{value}'" for value in values)

    def check(value: Any, path: Path, findings: ReadReport) -> Any:
        if type(value) is str and value in values:
            return value
        return findings.error(path, f"must be {listed}")

    return check


def each(check: Check) -> Check:
    """A list; elements that the check drops are left out of it."""

    def check_list(value: Any, path: Path, findings: ReadReport) -> Any:
        if type(value) is not list:
            return findings.error(path, "must be a list")
        items = [check(item, (*path, index), findings) for index, item in enumerate(value)]
        if any(new is not old for new, old in zip(items, value, strict=True)):
            return [item for item in items if item is not DROPPED]
        return value

    return check_list
