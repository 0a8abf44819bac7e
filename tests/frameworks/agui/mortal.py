"""Two servers for tests that kill them: an agent elsewhere that pays, and the one that mounts it.

`sayso serve tests.frameworks.agui.mortal:far` and `…:near`. `SAYSO_TEST_DATA` names the folder of
the effects, `SAYSO_TEST_FAR` the address of the server elsewhere. The one who pays on order 99 dies
after that, before it has said so; the one that mounts it dies while order 98 is paid elsewhere.
"""

import os
import signal
from pathlib import Path

from sayso import Sayso, ServerOptions, Turn, approval
from sayso.agui import mount_remote
from tests.patience import PATIENCE

FOLDER = Path(os.environ["SAYSO_TEST_DATA"])
OPTIONS = ServerOptions(lease=3.0, console=False)

far = Sayso(store="memory:", server=OPTIONS)


def write(line: str) -> None:
    """Note an effect where it is found after a death."""
    with (FOLDER / "effects").open("a") as file:
        file.write(f"{line}\n")
        file.flush()
        os.fsync(file.fileno())


@far.tool(approval=approval.always)
def pay(order: int) -> str:
    """Pay an order."""
    write(f"pay {order}")
    if order == 99:
        os.kill(os.getpid(), signal.SIGKILL)
    if order == 98:
        pid = FOLDER / "near.pid"
        if pid.exists():
            os.kill(int(pid.read_text()), signal.SIGKILL)
            pid.unlink()
    return f"paid {order}"


@far.agent("payer")
async def payer(turn: Turn) -> None:
    """Pays the order that is named, once somebody has said yes."""
    await turn.say("I would pay. ")
    await turn.say(str(await turn.call(pay, order=int(turn.input.text.split()[-1]))))


near = Sayso(store="memory:", server=OPTIONS)


def headers(turn: Turn) -> dict[str, str]:
    """None; what this process is called is noted, so that it can be killed."""
    (FOLDER / "near.pid").write_text(str(os.getpid()))
    return {}


address = os.environ.get("SAYSO_TEST_FAR") or "http://127.0.0.1:1"
mount_remote(near, "partner", f"{address}/agents/payer", headers=headers, silence=PATIENCE)
