"""Means to test agents and stores: agents in plain tests, a clock, a store that breaks, rules.

`Agent` runs an agent without a server: `help(sayso.testing.Agent)`.

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

from sayso.testing.agent import Agent
from sayso.testing.clock import FakeClock
from sayso.testing.faults import Call, Fault, FaultyStore, Hold, kill_process
from sayso.testing.question import Question
from sayso.testing.runs import Refused, Run
from sayso.testing.store_suite import Rule, suite
from sayso.testing.world import Ran

__all__ = [
    "Agent",
    "Call",
    "FakeClock",
    "Fault",
    "FaultyStore",
    "Hold",
    "Question",
    "Ran",
    "Refused",
    "Rule",
    "Run",
    "kill_process",
    "suite",
]
