"""The rules of `Store`, one function each, for any backend.

A rule takes an open, empty store and the clock that the store was given, and raises
`AssertionError` if the store breaks it.
"""

import inspect
from collections.abc import Awaitable, Callable
from types import ModuleType

from sayso.stores.base import Store
from sayso.testing.clock import FakeClock
from sayso.testing.store_suite import (
    approvals,
    audit,
    claims,
    commits,
    interrupts,
    lifecycle,
    lists,
    removal,
    secrets,
    sessions,
    threads,
)

Rule = Callable[[Store, FakeClock], Awaitable[None]]

_MODULES = (
    threads,
    claims,
    commits,
    interrupts,
    lists,
    removal,
    approvals,
    sessions,
    secrets,
    lifecycle,
    audit,
)


def suite() -> tuple[Rule, ...]:
    """Every rule; `rule.__name__` is the rule as a sentence, its docstring says more."""
    return tuple(rule for module in _MODULES for rule in _rules(module))


def _rules(module: ModuleType) -> list[Rule]:
    return [
        value
        for name, value in vars(module).items()
        if inspect.iscoroutinefunction(value)
        and value.__module__ == module.__name__
        and not name.startswith("_")
    ]
