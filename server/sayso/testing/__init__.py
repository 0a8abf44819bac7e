"""Means to test agents and stores: a clock to move, a store that breaks, rules for backends.

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

from sayso.testing.clock import FakeClock
from sayso.testing.faults import Call, Fault, FaultyStore, Hold, kill_process
from sayso.testing.store_suite import Rule, suite

__all__ = [
    "Call",
    "FakeClock",
    "Fault",
    "FaultyStore",
    "Hold",
    "Rule",
    "kill_process",
    "suite",
]
