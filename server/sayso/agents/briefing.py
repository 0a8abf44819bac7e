"""A call in words, for whoever decides about it: its title, why, its impact. Pure.

An author gives each as a text or as a function of the arguments. A text may name arguments in
braces: `"Refund {amount} for order {order_id}"`. A value that its schema marks as secret is never
put into one. Texts that get too long are cut, and say how much is left out.
"""

import inspect
import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from string import Formatter
from typing import Any, Final

from sayso.agents import summaries
from sayso.base import jsonvalue, printable
from sayso.base.errors import DeclarationError, NotRecordable
from sayso.base.texts import to_utf8_safe, to_utf8_safe_deep

_log = logging.getLogger("sayso.agents.briefing")

MAX_MESSAGE_CHARS: Final = 600
"""Characters of a message about a call."""
_MAX_TITLE_CHARS: Final = 80
_MAX_TEXT_CHARS: Final = 2_000
_MAX_VALUE_CHARS: Final = 40
"""Characters of a value inside a text."""
_MAX_ARGUMENT_CHARS: Final = 60
"""Characters of an argument in a message that does not have room for all of them."""
_MAX_FIGURES: Final = 20

Described = str | Mapping[str, Any]
"""A text, or figures by name: `{"files": 847, "size": "2.1 GB"}`."""
Said = str | Callable[..., str]
"""A text that may name arguments in braces, or a function of some of the arguments."""
Impact = Described | Callable[..., Described]
"""The same, or figures by name."""


@dataclass(frozen=True, slots=True)
class Wording:
    """A title, reason or impact that a tool states for its calls, as its author gave it."""

    name: str
    tool: str
    text: str | None = None
    figures: Mapping[str, Any] | None = None
    function: Callable[..., object] | None = None
    takes: tuple[str, ...] = ()

    @classmethod
    def of(cls, wording: Any, name: str, tool: str, parameters: Iterable[str]) -> "Wording | None":
        """Read an author's wording, checked against the tool's parameters.

        Raises:
            DeclarationError: it is no text and no function of the tool's arguments.
        """
        if wording is None:
            return None
        where, parameter_names = f"{name}= of tool {tool!r}", tuple(parameters)
        if isinstance(wording, str):
            if not wording.strip():
                raise DeclarationError(f"{where} is an empty text: leave it out")
            named = _checked(_named(wording, where), parameter_names, where)
            return cls(name, tool, text=wording, takes=named)
        if isinstance(wording, Mapping) and name == "impact":
            return cls(name, tool, figures=_figures(wording, where))
        if not callable(wording):
            kinds = "a text, figures by name" if name == "impact" else "a text"
            raise DeclarationError(
                f"{where} is {kinds} or a function of arguments, not {wording!r}"
            )
        return cls(name, tool, function=wording, takes=_taken(wording, parameter_names, where))

    def about(self, values: Callable[[], Mapping[str, Any]], shown: Mapping[str, Any]) -> Any:
        """Describe one call: a text, or figures; None if its function fails or says nothing.

        `values` are the arguments as the tool gets them, made for this function alone; `shown` are
        those that a text may name, without secrets.
        """
        if self.text is not None:
            parts = Formatter().parse(self.text)
            return "".join(
                text + ("" if name is None else _in_text(shown[name])) for text, name, _, _ in parts
            )
        if self.figures is not None:
            return self.figures
        try:
            arguments = values()
            said: Any = self._call({name: arguments[name] for name in self.takes})
            if isinstance(said, str):
                return said if said.strip() else None
            if isinstance(said, Mapping) and self.name == "impact":
                return _figures(said, "what it returned")
            if inspect.iscoroutine(said):
                said.close()
            if said is not None:
                raise TypeError(f"it returned {type(said).__name__}")
        except Exception:
            _log.exception("the %s of a call of tool %r is left out", self.name, self.tool)
        return None

    def _call(self, arguments: Mapping[str, Any]) -> object:
        assert self.function is not None  # noqa: S101 - one of the three is there
        return self.function(**arguments)


def in_bounds(name: str, said: Any) -> Any:
    """Cut a text or figures to the room of a card; a title is one line."""
    if isinstance(said, str):
        text = to_utf8_safe(said).strip()
        return (
            cut(" ".join(text.split()), _MAX_TITLE_CHARS)
            if name == "title"
            else (cut(text, _MAX_TEXT_CHARS))
        )
    if isinstance(said, Mapping):
        shown = list(said.items())
        figures = {
            cut(name, _MAX_VALUE_CHARS): _figure(value) for name, value in shown[:_MAX_FIGURES]
        }
        if left := len(shown) - _MAX_FIGURES:
            figures |= {"…": f"{left:,} more"} if left > 0 else {}
        return figures
    return None


def display(name: str, arguments: Mapping[str, Any], most: int = MAX_MESSAGE_CHARS) -> str:
    """A call in one line, as a person reads it: `mail(to="ann")`, without invisible characters.

    If it would have more than `most` characters, long values are given by their size, and the
    arguments that have no room at all by their number.
    """
    whole = [f"{key}={jsonvalue.encode(value).decode()}" for key, value in arguments.items()]
    if sum(map(len, whole)) <= most:
        line = printable.escaped(f"{name}({', '.join(whole)})")
        if len(line) <= most:
            return line
    parts: list[str] = []
    room = most - len(printable.escaped(name)) - len("(, and 1,000 more)")
    for key, value in arguments.items():
        part = printable.escaped(f"{key}={_argument(value)}")
        room -= len(part) + 2
        if room < 0:
            break
        parts.append(part)
    if left := len(arguments) - len(parts):
        parts.append(f"and {left:,} more" if parts else f"{left:,} arguments")
    return cut(printable.escaped(f"{name}(") + f"{', '.join(parts)})", most)


def approval_message(
    name: str,
    arguments: Mapping[str, Any],
    *,
    title: str | None,
    facts: str,
    why: str | None,
    impact: Any,
    before: str = "",
) -> tuple[str, bool]:
    """The question about a call for clients that show nothing else; True if it was truncated.

    Line by line: the title, the call with its arguments, its facts, why, its impact.
    """
    details = None if impact is None else to_text(impact)
    whole = display(name, arguments, 1 << 60)
    if title is None and not facts and why is None and details is None:
        question = f"Approve {whole}?{before}"
        if len(question) <= MAX_MESSAGE_CHARS:
            return question, False
    members = [
        (None if title is None else _line(title), _MAX_TITLE_CHARS),
        (_line(facts) or None, 130),
        (None if why is None else f"Why: {_line(why)}", 140),
        (None if details is None else f"Impact: {_line(details)}", 100),
    ]
    lines = [line and cut(line, most) for line, most in members]
    taken = sum(len(line) + 1 for line in lines if line)
    asking_title = f"Approve ?{before}"
    room = max(MAX_MESSAGE_CHARS - taken - len(asking_title), len(asking_title))
    call = whole if len(whole) <= room else display(name, arguments, room)
    head, *below = lines
    question = f"Approve {call}?{before}"
    message = cut("\n".join(line for line in (head, question, *below) if line), MAX_MESSAGE_CHARS)
    return message, call != whole or [line for line, _ in members] != lines


def to_text(value: Described) -> str:
    """A text as it is, figures as `files: 847; size: 2.1 GB`."""
    if isinstance(value, str):
        return value
    if not isinstance(value, Mapping):
        raise TypeError(f"{value!r} is neither a text nor figures by name: write {{'files': 3}}")
    return summaries.figures_text(value)


def cut(text: str, most: int) -> str:
    """Cut a text to at most so many characters; it says how many are left out."""
    if len(text) <= most:
        return text
    keep = max(0, most - len(f"… ({len(text):,} more characters)"))
    return f"{text[:keep].rstrip()}… ({len(text) - keep:,} more characters)"


def _argument(value: Any) -> str:
    """A value as JSON, or its kind and size if that is long."""
    written = jsonvalue.encode(value).decode()
    if len(written) <= _MAX_ARGUMENT_CHARS:
        return written
    if isinstance(value, str):
        begun = jsonvalue.encode(value[: _MAX_ARGUMENT_CHARS - 20]).decode()
        return f'{begun[:-1]}…" ({len(value):,} characters)'
    return _sized(value)


def _sized(value: Any) -> str:
    if isinstance(value, list):
        return f"[{len(value):,} values]"
    if isinstance(value, dict):
        return f"{{{len(value):,} members}}"
    return cut(jsonvalue.encode(value).decode(), _MAX_ARGUMENT_CHARS)


def _in_text(value: Any) -> str:
    """A value as it stands in a text."""
    if isinstance(value, str):
        return value if len(value) <= _MAX_VALUE_CHARS else f"{value[: _MAX_VALUE_CHARS - 1]}…"
    if value is None or isinstance(value, bool):
        return {None: "none", True: "yes", False: "no"}[value]
    if isinstance(value, float) and value.is_integer():
        return f"{value:.0f}"
    if isinstance(value, list):
        return f"{len(value):,} values"
    if isinstance(value, dict):
        return f"{len(value):,} members"
    return jsonvalue.encode(value).decode()


def _figure(value: Any) -> Any:
    if isinstance(value, str):
        return cut(value, 200)
    if isinstance(value, list | dict) and len(jsonvalue.encode(value)) > 200:
        return f"{len(value):,} {'values' if isinstance(value, list) else 'members'}"
    return value


def _figures(figures: Mapping[Any, Any], where: str) -> dict[str, Any]:
    """Figures by name as JSON values."""
    if not figures or not all(isinstance(name, str) and name for name in figures):
        raise DeclarationError(f"{where}: figures are values by name, not {figures!r}")
    try:
        read: dict[str, Any] = jsonvalue.decode(jsonvalue.encode(to_utf8_safe_deep(dict(figures))))
    except (NotRecordable, TypeError, ValueError) as error:
        raise DeclarationError(f"{where}: a figure has no JSON form: {error}") from None
    return read


def _line(text: str) -> str:
    """A text on one line, invisible characters shown: it cannot pass for another line."""
    return printable.escaped(" ".join(text.split()))


def _named(text: str, where: str) -> list[str]:
    """The arguments that a text names in braces."""
    names = []
    try:
        parts = [(name, spec, way) for _, name, spec, way in Formatter().parse(text)]
    except ValueError as error:
        raise DeclarationError(
            f"{where}: {error}; write {{{{ and }}}} for braces themselves"
        ) from None
    for name, spec, way in parts:
        if name is None:
            continue
        if spec or way or not name.isidentifier():
            raise DeclarationError(
                f"{where} names arguments in braces and nothing more, not "
                f"{{{name}{'!' + way if way else ''}{':' + spec if spec else ''}}}: write a "
                "function of the arguments for the rest"
            )
        names.append(name)
    return names


def _taken(
    function: Callable[..., object], argument_names: tuple[str, ...], where: str
) -> tuple[str, ...]:
    """The arguments that a function takes by name."""
    call = getattr(function, "__call__", None)  # noqa: B004 - the method itself is wanted
    if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(call):
        raise DeclarationError(f"{where} is asynchronous: it answers at once")
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        raise DeclarationError(f"{where} does not say which arguments it takes") from None
    if any(
        parameter.kind in (parameter.VAR_POSITIONAL, parameter.POSITIONAL_ONLY)
        for parameter in parameters
    ):
        raise DeclarationError(f"{where} takes arguments by position: name those that it needs")
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        return argument_names
    names = [
        parameter
        for parameter in parameters
        if parameter.name in argument_names or parameter.default is parameter.empty
    ]
    return _checked([parameter.name for parameter in names], argument_names, where)


def _checked(names: Iterable[str], argument_names: tuple[str, ...], where: str) -> tuple[str, ...]:
    chosen = tuple(dict.fromkeys(names))
    if missing := [name for name in chosen if name not in argument_names]:
        raise DeclarationError(
            f"{where} names {', '.join(missing)}, but the tool takes "
            f"{', '.join(sorted(argument_names)) or 'no arguments'}"
        )
    return chosen
