"""A strict reader of YAML: each value knows its line and place, and what is wrong is noted there.

`${NAME}` in a text is a variable of the environment, `${NAME:-default}` one that may be missing,
`$${` is plain. No problem repeats a value, nor what a variable holds: it may be a secret.
"""

import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import yaml

MAX_FILE_BYTES: Final = 1024 * 1024
"""Bytes of a file."""
_VARIABLE: Final = re.compile(r"\$(\$\{)|\$\{([^}]*)\}")
_NAME: Final = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?", re.DOTALL)


class YamlFileError(Exception):
    """A file that cannot be used; the message has one line for each problem."""


@dataclass(slots=True)
class YamlProblems:
    """The problems of a file, in the order of its lines once told."""

    path: Path
    held: dict[str, str] = field(default_factory=dict, repr=False)
    """What variables hold, and how the file names each."""
    _found: list[tuple[int, int, str]] = field(default_factory=list)

    def add(self, where: "Value", message: str) -> None:
        """Note a problem of a value."""
        mark = where.node.start_mark
        place = f", {where.path}" if where.path else ""
        for value, named in self.held.items():
            message = message.replace(value, named)
        text = f"{self.path} line {mark.line + 1}, column {mark.column + 1}{place}: {message}"
        self._found.append((mark.line, mark.column, text))

    def raise_if_any(self) -> None:
        """Report all problems at once.

        Raises:
            YamlFileError: there was any.
        """
        if self._found:
            raise YamlFileError("\n".join(text for _, _, text in sorted(set(self._found))))


@dataclass(frozen=True, slots=True)
class Value:
    """A value of a file; `path` is its place in it, as `agents[0].name`."""

    node: yaml.Node
    path: str
    findings: YamlProblems = field(repr=False)

    def wrong(self, message: str) -> None:
        """Note that this value is invalid."""
        self.findings.add(self, message)

    @property
    def is_scalar(self) -> bool:
        """True if it is a plain value, not a mapping or a list."""
        return isinstance(self.node, yaml.ScalarNode)

    def members(self, allowed: Sequence[str], required: Sequence[str] = ()) -> "dict[str, Value]":
        """The members of a mapping, by key; unknown, repeated and missing keys are noted."""
        if not isinstance(self.node, yaml.MappingNode):
            self.wrong(f"must be a mapping with {listed(allowed)}")
            return {}
        values: dict[str, Value] = {}
        for key_node, node in self.node.value:
            key = Value(key_node, self.path, self.findings)
            name = key.plain()
            if name not in allowed:
                key.wrong(f"unknown key {name!r}; there are {listed(allowed)}")
            elif name in values:
                key.wrong(f"{name!r} stands here twice")
            else:
                path = f"{self.path}.{name}" if self.path else name
                values[name] = Value(node, path, self.findings)
        for name in required:
            if name not in values:
                self.wrong(f"{name!r} is missing")
        return values

    def any_members(self) -> "Iterator[tuple[str, Value]]":
        """The members of a mapping whose keys are anybody's; anything else is noted."""
        if not isinstance(self.node, yaml.MappingNode):
            self.wrong("must be a mapping")
            return
        for key_node, node in self.node.value:
            name = str(getattr(key_node, "value", ""))
            yield name, Value(node, f"{self.path}.{name}", self.findings)

    def value(self) -> Any:
        """The value whatever it is, with mappings and lists in it."""
        if isinstance(self.node, yaml.MappingNode):
            return {name: value.value() for name, value in self.any_members()}
        if isinstance(self.node, yaml.SequenceNode):
            return [item.value() for item in self.items()]
        return self.plain()

    def peek(self, key: str) -> str | None:
        """The text of a member as it is written, of what may be no mapping; nothing is noted."""
        if isinstance(self.node, yaml.MappingNode):
            for key_node, node in self.node.value:
                if isinstance(node, yaml.ScalarNode) and key_node.value == key:
                    return str(node.value)
        return None

    def items(self) -> "Iterator[Value]":
        """The items of a list; anything else is noted."""
        if not isinstance(self.node, yaml.SequenceNode):
            self.wrong("must be a list")
            return
        for number, node in enumerate(self.node.value):
            yield Value(node, f"{self.path}[{number}]", self.findings)

    def plain(self) -> Any:
        """A scalar as Python has it: a string, a number, a boolean or None; else noted."""
        if isinstance(self.node, yaml.ScalarNode):
            try:
                value = _Scalars().construct_object(self.node)
                return self._filled(value) if isinstance(value, str) else value
            except (yaml.YAMLError, ValueError):
                self.wrong("is no value that YAML knows")
                return None
        self.wrong("must be a plain value")
        return None

    def _filled(self, text: str) -> str:
        """The text with its variables filled in; one that is missing is noted."""

        def variable(match: re.Match[str]) -> str:
            if match[1]:
                return match[1]
            named = _NAME.fullmatch(match[2])
            if named is None:
                self.wrong(f"{match[0]} is no variable: write ${{NAME}}, or $${{ for a plain one")
                return ""
            value = os.environ.get(named[1], "")
            if not value and named[2] is None:
                self.wrong(f"the variable {named[1]} is not set")
            if value:
                self.findings.held[value] = f"${{{named[1]}}}"
            return value or named[2] or ""

        return _VARIABLE.sub(variable, text)

    @property
    def is_variable(self) -> bool:
        """True if it is a variable, and nothing of it is written out."""
        written = getattr(self.node, "value", None)
        return isinstance(written, str) and re.fullmatch(r"\$\{[^}:]*(:-)?\}", written) is not None

    @property
    def has_variable(self) -> bool:
        """True if a variable stands in it."""
        written = getattr(self.node, "value", None)
        return isinstance(written, str) and any(m[2] for m in _VARIABLE.finditer(written))

    def text(self) -> str | None:
        """A string with something in it; anything else is noted."""
        value = self.plain()
        if isinstance(value, str) and value.strip():
            return value
        if isinstance(self.node, yaml.ScalarNode):
            hint = "; put it in quotes" if self.node.value else ""
            self.wrong(f"must be a text{hint}")
        return None

    def checked(self, fits: Callable[[Any], bool], what: str) -> Any:
        """A scalar that fits, or None and a note of what it must be."""
        value = self.plain()
        if isinstance(self.node, yaml.ScalarNode):
            if fits(value):
                return value
            self.wrong(f"must be {what}")
        return None


class _Scalars(yaml.constructor.SafeConstructor):
    """Makes scalars of nodes."""


def read_file(path: Path) -> Value:
    """Read the one document of a file.

    Raises:
        YamlFileError: the file does not exist, or cannot be read.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise YamlFileError(f"{path} cannot be read: {error.strerror}") from None
    if len(data) > MAX_FILE_BYTES:
        raise YamlFileError(f"{path} has more than {MAX_FILE_BYTES} bytes")
    try:
        node = yaml.compose(data, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = "" if mark is None else f" line {mark.line + 1}, column {mark.column + 1}"
        quoted = 'quote a value that has a colon, as in store: "memory:"'
        hint = f"; {quoted}" if "mapping values" in (error.problem or "") else ""
        raise YamlFileError(f"{path}{where}: {error.problem}{hint}") from None
    except RecursionError:
        raise YamlFileError(f"{path} is nested too deeply") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise YamlFileError(f"{path} is no YAML: {' '.join(str(error).split())}") from None
    if node is None:
        raise YamlFileError(f"{path} is empty")
    return Value(node, "", YamlProblems(path))


def listed(names: Sequence[str]) -> str:
    """Names in a row."""
    return ", ".join(names)
