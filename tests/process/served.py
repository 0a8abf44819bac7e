"""The demo's agent for `sayso serve tests.process.served:app`, as `replicas` starts it.

`SAYSO_TEST_DATA` names the folder of its data, `SAYSO_TEST_LEASE` the seconds of its leases.
"""

import os

from sayso.demo.app import demo_app
from sayso.demo.settings import Settings
from sayso.demo.tools import Pace

__all__ = ["app"]

_settings = Settings(
    host="127.0.0.1",
    port=0,
    store="memory:",
    data=os.environ["SAYSO_TEST_DATA"],
    expires_in=600.0,
    keep_alive=0.5,
)
_pace = Pace(piece=0.005, work=0.3)
app = demo_app(_settings, pace=_pace).again(lease=float(os.environ["SAYSO_TEST_LEASE"]))
