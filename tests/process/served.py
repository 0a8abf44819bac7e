"""The demo's agent for `sayso serve tests.process.served:app`, as `replicas` starts it.

`SAYSO_TEST_DATA` names the folder of its data, `SAYSO_TEST_LEASE` the seconds of its leases. While
the data have a file `hold`, slow work goes on.
"""

import asyncio
import os
from dataclasses import dataclass, replace
from pathlib import Path

from sayso.demo.app import demo_app
from sayso.demo.settings import Settings
from sayso.demo.tools import Delay

__all__ = ["app"]


@dataclass(frozen=True)
class Held(Delay):
    """Work that takes its time, and is not over before a test lets it end."""

    hold: Path = Path("hold")

    async def working(self) -> None:
        await Delay.working(self)
        while self.hold.exists():  # noqa: ASYNC110 - a file tells nobody
            await asyncio.sleep(0.02)


_settings = Settings(
    host="127.0.0.1",
    port=0,
    store="memory:",
    data=os.environ["SAYSO_TEST_DATA"],
    expires_in=600.0,
    keep_alive=0.5,
)
_pace = Held(piece=0.005, work=0.3, hold=Path(_settings.data, "hold"))
_demo = demo_app(_settings, pace=_pace)
app = _demo.replace(server=replace(_demo.server, lease=float(os.environ["SAYSO_TEST_LEASE"])))
