"""Reading protocol objects, from peers that are older, newer, or careless (FC-01 to FC-12).

A check takes a value, where it stands and a report. It returns the value without what the protocol
does not describe; `DROPPED` for what is left out, which goes from the nearest place that can do
without it; `MALFORMED` for what is described and wrong. The report decides what any of that means.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final

from sayso.base.jsonvalue import pointer

Path = tuple[str | int, ...]
Check = Callable[[Any, Path, "ReadReport"], Any]

DROPPED: Final = object()
MALFORMED: Final = object()
_ABSENT: Final = object()

NO_MEMBER: Final = "is no member of the protocol"
MAX_ID_CHARS = 512
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f]")
MAX_FINDINGS = 100
"""Errors that one refusal tells."""
MAX_POINTER_CHARS = 200


@dataclass(slots=True)
class ReadReport:
    """Errors of a request, and warnings of what was left out of it; neither holds its values.

    Its subclasses read streams: `protocol/guard` what is sent, `client/events` what came.
    """

    older: ClassVar[bool] = True
    """Read as well what older peers write: snake_case, the retired `binary` part."""
    strict: ClassVar[bool] = False
    """Hold to what a producer should write, not to what a consumer must take."""

    errors: list[dict[str, str]] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    count: int = 0
    """How many errors there are; the first `most` are kept."""
    most: int = MAX_FINDINGS

    def error(self, path: Path, message: str) -> Any:
        """Note a malformed member; returns `MALFORMED` so that a check can end with it."""
        self.count += 1
        if len(self.errors) < self.most:
            self.errors.append({"pointer": pointer(path), "message": message})
        return MALFORMED

    def warn(self, path: Path, message: str) -> Any:
        """Note what the sender should know; returns `DROPPED`."""
        if len(self.warnings) < MAX_FINDINGS:
            self.warnings.append(f"{pointer(path)[:MAX_POINTER_CHARS]!r} {message}")
        return DROPPED

    def drop(self, path: Path, message: str) -> Any:
        """Note what is not described and therefore left out; returns `DROPPED`."""
        return self.warn(path, f"{message} and was left out")

    def is_absent(self, path: Path, required: bool) -> bool:
        """True if a member that is null counts as absent (FC-04)."""
        return True

    def id_error(self, value: str) -> str | None:
        """Say why a string is no id, if it is none: ours are stored and looked up."""
        if 0 < len(value) <= MAX_ID_CHARS and "\0" not in value:
            return None
        return f"must have 1 to {MAX_ID_CHARS} characters, none of them NUL"


class Shape:
    """The members of one kind of protocol object: a check for each, and which are required."""

    __slots__ = ("_plain", "_strings", "_texts", "checks", "required", "snake")

    def __init__(self, checks: dict[str, Check], required: tuple[str, ...] = ()) -> None:
        self.checks: dict[str, Check] = checks
        self.required: tuple[str, ...] = required
        self.snake: dict[str, str] = {
            snake: name for name in checks if (snake := _snake(name)) != name
        }
        self._texts = frozenset(name for name, check in checks.items() if check is text)
        self._strings = self._texts | {
            name for name, check in checks.items() if check is identifier
        }
        self._plain = required if self._strings.issuperset(required) else ()

    def read(self, value: Any, path: Path, report: ReadReport) -> Any:
        """The object with known members only, each as its check returned it."""
        if type(value) is not dict:
            return report.error(path, "must be an object")
        if len(value) == len(self._plain) and not report.older and self._is_plain(value):
            return value
        # Most members of most objects are strings: they are passed without a call.
        strings = self._texts if report.older else self._strings
        changed: dict[str, Any] = {}
        for name, item in value.items():
            if item.__class__ is not str or not item or name not in strings:
                self._check(name, value, path, report, changed)
        if changed:
            return self._changed(value, changed, path, report)
        for name in self.required:
            if name not in value:
                report.error((*path, name), "is required")
        return value

    def _is_plain(self, value: dict[str, Any]) -> bool:
        """True for what most events are: strings that are required, and nothing else."""
        for name in self._plain:
            item = value.get(name)
            if item.__class__ is not str or not item:
                return False
        return True

    def _check(
        self,
        name: str,
        value: dict[str, Any],
        path: Path,
        report: ReadReport,
        changed: dict[str, Any],
    ) -> None:
        """Note what becomes of a member in `changed`, if that is not itself."""
        item, check = value[name], self.checks.get(name)
        if check is None and report.older:
            camel = self.snake.get(name)
            if camel is not None and camel not in value:
                changed[name], changed[camel] = _ABSENT, item
                name, check = camel, self.checks[camel]
        if check is None:
            changed[name] = report.drop((*path, name), NO_MEMBER)
        elif item is None and report.is_absent((*path, name), name in self.required):
            changed[name] = _ABSENT
        elif check is not anything:
            result = check(item, path + (name,), report)  # noqa: RUF005 - twice as fast
            if result is not item:
                changed[name] = result

    def _changed(
        self, value: dict[str, Any], changed: dict[str, Any], path: Path, report: ReadReport
    ) -> Any:
        members = {**value, **changed}
        members = {name: item for name, item in members.items() if item is not _ABSENT}
        for name in self.required:
            if name not in members:
                report.error((*path, name), "is required")
            elif members[name] is DROPPED:
                return DROPPED
        return {name: item for name, item in members.items() if item is not DROPPED}


def _snake(name: str) -> str:
    return re.sub(r"[A-Z]", lambda match: "_" + match[0].lower(), name)


def anything(value: Any, path: Path, report: ReadReport) -> Any:
    """Any JSON value, untouched (FC-10)."""
    return value


def text(value: Any, path: Path, report: ReadReport) -> Any:
    """A string."""
    return value if type(value) is str else report.error(path, "must be a string")


def identifier(value: Any, path: Path, report: ReadReport) -> Any:
    """A string that the report takes for an id; in a request 1 to 512 characters, no NUL."""
    message = report.id_error(value) if type(value) is str else "must be a string"
    return value if message is None else report.error(path, message)


def thread_id(value: Any, path: Path, report: ReadReport) -> Any:
    """An identifier that is part of paths: a client can say no other one there."""
    named = identifier(value, path, report)
    if type(named) is not str or (named.isprintable() and named not in (".", "..")):
        return named
    if named in (".", "..") or _CONTROL.search(named):
        return report.error(
            path, "must be no '.' or '..' and have no control characters: it is part of a path"
        )
    return named


def obj(value: Any, path: Path, report: ReadReport) -> Any:
    """An object, open by key."""
    return value if type(value) is dict else report.error(path, "must be an object")


def flag(*values: str) -> Check:
    """One of a closed set of strings; another string is malformed (RE-02, FC-03)."""
    quoted = [f"'{value}'" for value in values]
    listed = " or ".join(quoted) if len(quoted) < 3 else f"one of {', '.join(quoted)}"

    def check(value: Any, path: Path, report: ReadReport) -> Any:
        if type(value) is str and value in values:
            return value
        return report.error(path, f"must be {listed}")

    return check


def each(check: Check, least: int = 0) -> Check:
    """A list, of `least` items or more; elements that the check drops are left out of it."""

    def check_list(value: Any, path: Path, report: ReadReport) -> Any:
        if type(value) is not list:
            return report.error(path, "must be a list")
        if len(value) < least:
            return report.error(path, f"must have {least} or more items")
        items, same = [], True
        for index, item in enumerate(value):
            result = check(item, path + (index,), report)  # noqa: RUF005 - twice as fast
            same = same and result is item
            if result is not DROPPED and result is not MALFORMED:
                items.append(result)
        return value if same else items

    return check_list


def tagged(tag: str, arms: dict[str, Check], noun: str) -> Check:
    """An object that the string at `tag` picks a check for; of an unknown one it is left out."""

    def check(value: Any, path: Path, report: ReadReport) -> Any:
        if type(value) is not dict:
            return report.error(path, "must be an object")
        kind = value.get(tag)
        if type(kind) is not str:
            return report.error((*path, tag), "must be a string")
        arm = arms.get(kind)
        if arm is None:
            return report.drop(path, f"is {noun} of an unknown {tag}")
        return arm(value, path, report)

    return check
