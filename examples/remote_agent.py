"""An agent on another server, shown, asked about and recorded by this one.

    cd examples && sayso serve agui_events:app --port 8001
    cd examples && sayso serve remote_agent:app

Say "refund A-17". The other server asks, this one puts its question to a person: held to its form,
in the inbox, by the roles that `approve=` wants. The answer goes back once. For an agent of your
own set PARTNER_URL, and PARTNER_TOKEN if it wants one.
"""

import os

from sayso import Sayso, Turn
from sayso.agui import mount_remote

app = Sayso(store="sqlite:///remote_agent.db")


def headers(turn: Turn) -> dict[str, str]:
    """What goes with each request: who asks, and the key of this server."""
    token = os.environ.get("PARTNER_TOKEN", "")
    return {"x-user": turn.principal.subject} | (
        {"authorization": f"Bearer {token}"} if token else {}
    )


url = os.environ.get("PARTNER_URL", "http://127.0.0.1:8001/agents/support")
mount_remote(app, "partner", url, headers=headers)
