"""What probes ask of a slow store, and what they tell of it."""

import asyncio
from types import SimpleNamespace
from typing import Any

from sayso.base.records import OpenCount
from sayso.engine.health import Health


class Slow:
    """A store with 37 open questions, which answers when it is let go; keeps what it was asked."""

    def __init__(self) -> None:
        self.go = asyncio.Event()
        self.asked: list[int] = []

    async def count_all_open(self, most: int) -> OpenCount:
        self.asked.append(most)
        await self.go.wait()
        return OpenCount(count=min(37, most), oldest=0)


async def test_metrics_count_all_though_readiness_is_asked_meanwhile() -> None:
    """Readiness counts to one, and shares its call with its like alone."""
    store = Slow()
    services: Any = SimpleNamespace(
        store=store, metrics=SimpleNamespace(lines=lambda: ()), clock=SimpleNamespace(now=lambda: 0)
    )
    health = Health(services, lambda: 0)
    probes = [asyncio.ensure_future(health.ready()) for _ in range(2)]
    scrape = asyncio.ensure_future(health.lines())
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    store.go.set()
    await asyncio.gather(*probes)
    assert "sayso_interrupts_open 37" in "".join(await scrape)
    assert len(store.asked) == 2, "one call for both that ask for readiness"
