"""Digests of rules: a yes that was given under one rule is valid for no other. Pure.

A function counts by what it does, not by where it is: its code, its defaults, and the plain values
that it reads from its surroundings. The functions that it calls are not seen; an author who changes
one says so by `version=`, which counts instead of the code.
"""

import functools
import types
from collections.abc import Iterable, Mapping
from enum import Enum
from inspect import CO_NESTED
from typing import Any, Final

from sayso.base import jsonvalue

_PLAIN: Final = (bool, int, float, str, bytes, type(None))
_MAX_DEPTH: Final = 8
"""The depth to which containers, closures and wrapped functions are followed."""


def digest(
    members: Mapping[str, Any], decided_by: Iterable[object], version: str | int | None
) -> str:
    """SHA-256 over what is declared, and over the functions that decide or their `version`."""
    decides: list[Any] = ["version", version]
    if version is None:
        decides = ["code", [_described(function, _MAX_DEPTH) for function in decided_by]]
    return jsonvalue.digest({"declared": dict(members), "decides": decides})


def _described(value: Any, depth: int) -> Any:
    """A value as JSON, the same for equal ones; its type alone if two cannot be told apart."""
    if isinstance(value, Enum):
        return ["enum", _name(type(value)), value.name]
    if isinstance(value, _PLAIN):
        return [type(value).__name__, repr(value)]
    if depth == 0:
        return ["deep", _name(type(value))]
    deeper = depth - 1
    if isinstance(value, list | tuple):
        return [type(value).__name__, [_described(item, deeper) for item in value]]
    if isinstance(value, set | frozenset):
        parts = sorted((_described(item, deeper) for item in value), key=repr)
        return [type(value).__name__, parts]
    if isinstance(value, dict):
        return ["dict", [[_described(k, deeper), _described(v, deeper)] for k, v in value.items()]]
    if isinstance(value, types.FunctionType):
        return _function(value, deeper)
    if isinstance(value, types.MethodType):
        return ["method", _described(value.__func__, deeper), _described(value.__self__, deeper)]
    if isinstance(value, functools.partial):
        partial_of = [value.func, value.args, value.keywords]
        return ["partial", [_described(item, deeper) for item in partial_of]]
    if isinstance(value, type | types.BuiltinFunctionType | types.ModuleType):
        return ["named", _name(value)]
    call = getattr(type(value), "__call__", None)  # noqa: B004 - the method itself is wanted
    does = _function(call, deeper) if isinstance(call, types.FunctionType) else None
    members = {n: v for n, v in getattr(value, "__dict__", {}).items() if _is_plain(v)}
    return ["object", _name(type(value)), does, _described(members, deeper)]


def _function(function: types.FunctionType, depth: int) -> Any:
    code = function.__code__
    cells = zip(code.co_freevars, function.__closure__ or (), strict=True)
    around = {name: cell.cell_contents for name, cell in cells if _is_filled(cell)}
    read = {
        name: function.__globals__[name] for name in _names(code) if name in function.__globals__
    }
    return [
        "function",
        _code(code),
        _described(function.__defaults__, depth),
        _described(function.__kwdefaults__, depth),
        _described(around, depth),
        _described({name: value for name, value in read.items() if _is_plain(value)}, depth),
    ]


def _code(code: types.CodeType) -> Any:
    """Describe what code does, without where it stands."""
    constants = [
        _code(constant)
        if isinstance(constant, types.CodeType)
        else _described(constant, _MAX_DEPTH)
        for constant in code.co_consts
    ]
    return [
        code.co_code.hex(),
        code.co_argcount,
        code.co_posonlyargcount,
        code.co_kwonlyargcount,
        code.co_flags & ~CO_NESTED,
        list(code.co_names),
        list(code.co_varnames),
        list(code.co_freevars),
        list(code.co_cellvars),
        constants,
    ]


def _names(code: types.CodeType) -> list[str]:
    """The names that code reads, and those that functions inside it do."""
    inner = [
        name
        for const in code.co_consts
        if isinstance(const, types.CodeType)
        for name in _names(const)
    ]
    return sorted({*code.co_names, *inner})


def _is_plain(value: Any, depth: int = 3) -> bool:
    if isinstance(value, _PLAIN):
        return True
    if depth == 0:
        return False
    if isinstance(value, list | tuple | set | frozenset):
        return all(_is_plain(item, depth - 1) for item in value)
    if isinstance(value, dict):
        return all(_is_plain(item, depth - 1) for pair in value.items() for item in pair)
    return False


def _is_filled(cell: types.CellType) -> bool:
    try:
        _ = cell.cell_contents
    except ValueError:
        return False
    return True


def _name(value: Any) -> str:
    return f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', value)}"
