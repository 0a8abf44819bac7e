"""YAML read strictly: every value knows its line, and every problem says where it is."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

__all__ = ["Findings", "Value", "YamlFileError", "read_file"]

LARGEST = 1024 * 1024
"""Bytes of a file."""


class YamlFileError(Exception):
    """A file that cannot be used; the message has one line for each problem."""


@dataclass(slots=True)
class Findings:
    """What is wrong with a file, in the order of its lines once told."""

    path: Path
    _found: list[tuple[int, int, str]] = field(default_factory=list)

    def add(self, where: "Value", message: str) -> None:
        """Note a problem of a value."""
        mark = where.node.start_mark
        at = f", {where.at}" if where.at else ""
        text = f"{self.path} line {mark.line + 1}, column {mark.column + 1}{at}: {message}"
        self._found.append((mark.line, mark.column, text))

    def tell(self) -> None:
        """Raise `YamlFileError` if there was any."""
        if self._found:
            raise YamlFileError("\n".join(text for _, _, text in sorted(set(self._found))))


@dataclass(frozen=True, slots=True)
class Value:
    """A value of a file; `at` is its path in it, as `agents[0].name`."""

    node: yaml.Node
    at: str
    findings: Findings = field(repr=False)

    def wrong(self, message: str) -> None:
        """Note that this value does not do."""
        self.findings.add(self, message)

    @property
    def is_scalar(self) -> bool:
        """Whether it is a plain value, and no mapping or list."""
        return isinstance(self.node, yaml.ScalarNode)

    def members(self, known: Sequence[str], required: Sequence[str] = ()) -> "dict[str, Value]":
        """The members of a mapping, by key; what is unknown, doubled or missing is noted."""
        if not isinstance(self.node, yaml.MappingNode):
            self.wrong(f"must be a mapping with {_listed(known)}")
            return {}
        found: dict[str, Value] = {}
        for key_node, node in self.node.value:
            key = Value(key_node, self.at, self.findings)
            name = key.plain()
            if name not in known:
                key.wrong(f"unknown key {name!r}; there are {_listed(known)}")
            elif name in found:
                key.wrong(f"{name!r} stands here twice")
            else:
                at = f"{self.at}.{name}" if self.at else name
                found[name] = Value(node, at, self.findings)
        for name in required:
            if name not in found:
                self.wrong(f"{name!r} is missing")
        return found

    def items(self) -> "Iterator[Value]":
        """The items of a list; anything else is noted."""
        if not isinstance(self.node, yaml.SequenceNode):
            self.wrong("must be a list")
            return
        for number, node in enumerate(self.node.value):
            yield Value(node, f"{self.at}[{number}]", self.findings)

    def plain(self) -> Any:
        """A scalar as Python has it: a string, a number, a boolean or None; else noted."""
        if isinstance(self.node, yaml.ScalarNode):
            try:
                return _Scalars().construct_object(self.node)
            except (yaml.YAMLError, ValueError):
                self.wrong("is no value that YAML knows")
                return None
        self.wrong("must be a plain value")
        return None

    def text(self) -> str | None:
        """A string with something in it; anything else is noted."""
        value = self.plain()
        if isinstance(value, str) and value.strip():
            return value
        if isinstance(self.node, yaml.ScalarNode):
            hint = f"; put it in quotes: '{self.node.value}'" if self.node.value else ""
            self.wrong(f"must be a text{hint}")
        return None

    def checked(self, fits: Callable[[Any], bool], what: str) -> Any:
        """A scalar that fits, or None and a note of what it must be."""
        value = self.plain()
        if isinstance(self.node, yaml.ScalarNode):
            if fits(value):
                return value
            self.wrong(f"must be {what}, not {self.node.value!r}")
        return None


class _Scalars(yaml.constructor.SafeConstructor):
    """Makes scalars of nodes."""


def read_file(path: Path) -> Value:
    """The one document of a file; raises `YamlFileError`, also for a file that is not there."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise YamlFileError(f"{path} cannot be read: {error.strerror}") from None
    if len(data) > LARGEST:
        raise YamlFileError(f"{path} has more than {LARGEST} bytes")
    try:
        node = yaml.compose(data, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = "" if mark is None else f" line {mark.line + 1}, column {mark.column + 1}"
        raise YamlFileError(f"{path}{where}: {error.problem}") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise YamlFileError(f"{path} is no YAML: {' '.join(str(error).split())}") from None
    if node is None:
        raise YamlFileError(f"{path} is empty")
    return Value(node, "", Findings(path))


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names)
