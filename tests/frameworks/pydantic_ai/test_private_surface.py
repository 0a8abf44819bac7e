"""What the adapter uses of Pydantic AI that is not told as public, in this version."""

from typing import get_args

from pydantic_ai import Agent, durable_exec
from pydantic_ai.durable_exec import BaseDurabilityCapability, _toolset

from sayso.frameworks.pydantic_ai.requests import SUPPORTED
from sayso.pydantic_ai import SaysoDurability

ADVICE = "Pydantic AI has changed what the adapter stands on: look at sayso/frameworks/pydantic_ai/"


def test_a_capability_is_bound_to_an_agent_by_a_method_that_can_be_extended() -> None:
    for name in ("_bind_to_agent", "_find_model_id"):
        assert hasattr(BaseDurabilityCapability, name), f"{name}: {ADVICE}durability.py"
    bound = SaysoDurability(name="a").for_agent(Agent("test", name="a"))
    assert isinstance(getattr(bound, "_models_by_id", None), dict), f"{ADVICE}durability.py"


def test_a_streamed_reply_can_come_whole_to_a_run() -> None:
    for name in ("_model_request_operation", "_model_request_stream_operation"):
        assert hasattr(BaseDurabilityCapability, name), f"{name}: {ADVICE}durability.py"
    newer = hasattr(durable_exec, "record_durable_unit")
    assert SUPPORTED or not newer, f"{ADVICE}requests.py"


def test_the_lifecycles_of_toolsets_are_known() -> None:
    known = get_args(getattr(_toolset, "Lifecycle", None))
    assert "enter-never" in known, f"{ADVICE}durability.py"
    newer = hasattr(durable_exec, "record_durable_unit")
    assert not newer or "enter-in-durable-unit" in known, f"{ADVICE}durability.py"
