"""Values to JSON and back, as a pure thing (design 3, rule 4)."""

import dataclasses
import functools
import math
import subprocess
import sys
from typing import Any

import pytest
from pydantic import BaseModel, Field

from sayso import NotRecordable
from sayso.agents.codec import Codec, in_stable_order, recorded, return_codec


class Item(BaseModel):
    name: str = Field(alias="itemName")
    tags: set[str] = set()


@dataclasses.dataclass
class Box:
    items: list[Item]
    marks: frozenset[int] = frozenset()


def test_a_value_goes_through_its_json_form_by_its_annotation() -> None:
    """Aliases both ways, nested."""
    codec = Codec(list[Item])
    data = codec.encode([Item(itemName="a")], "it")
    assert data == b'[{"itemName":"a","tags":[]}]'
    assert codec.decode(data, "it") == [Item(itemName="a")]


@pytest.mark.parametrize("annotation", [Any, object])
def test_without_an_annotation_values_are_plain_json(annotation: Any) -> None:
    """What comes back is what JSON holds."""
    codec = Codec(annotation)
    data = codec.encode({"a": (1, Item(itemName="x"))}, "it")
    assert codec.decode(data, "it") == {"a": [1, {"itemName": "x", "tags": []}]}
    assert codec.schema is None


def test_nan_and_infinities_are_null() -> None:
    """EN-07: strict JSON has none; live as well as on replay."""
    assert recorded([math.nan, math.inf, -math.inf], "it") == b"[null,null,null]"


@pytest.mark.parametrize("value", [object(), open, {1: {object()}}, b"\xff"])
def test_what_has_no_json_form_is_named_and_refused(value: Any) -> None:
    """The message says what it was and what to pass instead."""
    with pytest.raises(NotRecordable, match=r"an argument of step 'f'.*pass plain data"):
        recorded(value, "an argument of step 'f'")


def test_a_value_that_is_not_of_its_annotation_is_refused() -> None:
    """Rather than decoded as something else on replay."""
    with pytest.raises(NotRecordable, match="the result of step 'f' does not fit"):
        Codec(int).encode("text", "the result of step 'f'")
    with pytest.raises(NotRecordable, match="does not come back as"):
        Codec(int).decode(b'"text"', "it")


@pytest.mark.parametrize(
    ("annotation", "only"),
    [(type(None), True), (int | None, False), (Any, False), (int, False), (Item, False)],
)
def test_whether_null_is_the_only_result_is_known(annotation: Any, only: bool) -> None:
    """It decides whether `skip` needs a result."""
    assert Codec(annotation).only_null() is only


def test_annotations_are_found_on_all_kinds_of_callables() -> None:
    """Functions, methods, wrapped ones; what has none is plain."""

    def fn() -> Item:
        return Item(itemName="a")

    @functools.wraps(fn)
    def wrapped() -> Any:
        return fn()

    class Service:
        def method(self) -> Item:
            return fn()

        def __call__(self) -> Item:
            return fn()

    def unresolvable() -> "Nowhere":  # type: ignore[name-defined]  # noqa: F821
        return None

    def unusable() -> type(fn):  # type: ignore[valid-type]
        return None

    assert return_codec(fn).annotation is Item
    assert return_codec(wrapped).annotation is Item
    for typed in (Service().method, Service(), functools.partial(functools.partial(fn))):
        assert return_codec(typed).annotation is Item
    for plain in (unresolvable, unusable, print, lambda: 1, str):
        assert return_codec(plain).annotation is Any


def test_a_callable_without_a_hash_is_taken_too() -> None:
    """The cache is no reason to refuse it."""

    @dataclasses.dataclass
    class Adder:
        amount: int

        def __call__(self) -> int:
            return self.amount

    assert return_codec(Adder(1)).decode(b"1", "it") == 1


def test_sets_are_written_in_one_order() -> None:
    """What a call asks for has one fingerprint in every process."""
    for value in ({"b", "a"}, frozenset("ba")):
        assert in_stable_order(value, recorded(value, "it")) == b'["a","b"]'
    nested = [{"k": {2, 1, 10}}, Box([Item(itemName="i", tags={"z", "y"})], frozenset({3, 1}))]
    assert in_stable_order(nested, recorded(nested, "it")) == (
        b'[{"k":[1,10,2]},{"items":[{"itemName":"i","tags":["y","z"]}],"marks":[1,3]}]'
    )


@pytest.mark.parametrize("value", [[3, 1, 2], {"b": 1, "a": [2, 1]}, 2**70, [Item(itemName="i")]])
def test_what_holds_no_set_is_left_as_it_was_written(value: Any) -> None:
    """Lists keep their order, large integers their digits."""
    written = recorded(value, "it")
    assert in_stable_order(value, written) == written


def test_another_process_writes_the_same() -> None:
    """Text hashes differ between processes, and so does the order in which sets iterate."""
    code = (
        "from sayso.agents.codec import in_stable_order, recorded;"
        "v = {str(n) for n in range(20)}; print(in_stable_order(v, recorded(v, 'it')).decode())"
    )
    outputs = {
        subprocess.run(  # noqa: S603 - this interpreter, on the line above
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env={"PYTHONHASHSEED": str(seed), "PYTHONPATH": ":".join(sys.path)},
        ).stdout
        for seed in (1, 2)
    }
    assert len(outputs) == 1
