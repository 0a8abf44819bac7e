"""What a turn records goes one way (design 3, rules 3 and 4)."""

import ast
import inspect

from sayso.turns.replay.execution import Execution
from tests.sources import ROOT

TURNS = ROOT / "server" / "sayso" / "turns"


def calls_of(name: str) -> list[str]:
    """The modules of turns that call a method of that name."""
    return [
        str(path.relative_to(TURNS))
        for path in sorted(TURNS.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == name
    ]


def test_only_the_primitive_enters_a_place() -> None:
    """Once for one thing, once for a batch: nobody spells the way from there to a value again."""
    assert calls_of("enter") == ["replay/recorded.py"] * 2


def test_an_execution_is_made_of_six_things() -> None:
    """What was read of a turn is one of them, what a server shares another."""
    made_of = list(inspect.signature(Execution).parameters)
    assert made_of == ["services", "opened", "leased", "stream", "effects", "usage"]
