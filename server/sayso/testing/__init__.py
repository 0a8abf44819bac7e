"""Means to test agents and stores: agents in plain tests, a clock, a store that breaks, rules.

`Agent` runs an agent without a server: `help(sayso.testing.Conversation)`.

To certify a backend, run every function of `suite()` on a fresh, open store whose clock is the
`FakeClock` that is passed along:

    @pytest.mark.parametrize("rule", suite(), ids=lambda rule: rule.__name__)
    async def test_my_store(rule):
        clock = FakeClock()
        store = MyStore(clock=clock)
        await store.open()
        await rule(store, clock)
        await store.close()
"""

from sayso.testing.agent import Conversation
from sayso.testing.clock import FakeClock
from sayso.testing.faults import FaultyStore, kill_process
from sayso.testing.person import Person
from sayso.testing.points import Barrier, Fault, StoreCall
from sayso.testing.provider import FakeCall, FakeProvider, FakeReply, FakeRequest
from sayso.testing.question import OpenQuestion
from sayso.testing.runs import Refused, RunResult
from sayso.testing.store_suite import Rule, suite
from sayso.testing.world import RanEffect

__all__ = [
    "Barrier",
    "Conversation",
    "FakeCall",
    "FakeClock",
    "FakeProvider",
    "FakeReply",
    "FakeRequest",
    "Fault",
    "FaultyStore",
    "OpenQuestion",
    "Person",
    "RanEffect",
    "Refused",
    "Rule",
    "RunResult",
    "StoreCall",
    "kill_process",
    "suite",
]
