"""Two real processes on one store: an approver's no stands, whichever of them hears of it."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests import plain
from tests.patience import PATIENCE
from tests.process.replicas import Serving
from tests.server import run_input, until
from tests.stores.backends import SHARED

COMPANY = '''
"""Two payments that a lead decides; each one that is made is a line of a file."""

from pathlib import Path

from sayso import Principal, Sayso, ServerOptions, ToolCall, Turn, approval, auth

PEOPLE = {"ann": (), "lea": ("lead",), "leo": ("lead",)}
TOKENS = {f"token-of-{who}-0123456789": Principal(subject=who, roles=roles)
          for who, roles in PEOPLE.items()}
app = Sayso(store="memory:", authenticate=auth.bearer(TOKENS), server=ServerOptions(console=False))

@app.tool(approval=approval.always(by="lead"))
def pay(to: str) -> str:
    with Path("paid").open("a") as paid:
        paid.write(f"{to}\\n")
    return "Paid."

@app.agent("payer")
async def payer(turn: Turn) -> None:
    said = turn.input.text
    await turn.call_all([ToolCall(tool=pay, args={"to": f"{said}-{one}"}) for one in "ab"])
'''
ROUNDS = 6
Pair = tuple[Serving, Serving, Path]


@pytest.fixture(params=list(SHARED))
def pair(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Pair]:
    """Two servers of one company, and the folder in which they pay."""
    (tmp_path / "company.py").write_text(COMPANY)
    store = SHARED[request.param](tmp_path)
    servers = [Serving(tmp_path, "company:app", store=store, agent="payer") for _ in range(2)]
    try:
        for server in servers:
            server.spawn()
        for server in servers:
            server.wait_healthy()
        yield servers[0], servers[1], tmp_path
    finally:
        for server in servers:
            server.kill()


def call(server: Serving, who: str, method: str, path: str, body: Any = None) -> httpx.Response:
    headers = {"authorization": f"Bearer token-of-{who}-0123456789"}
    url = f"{server.url}{path}"
    return plain.request(method, url, json=body, headers=headers, timeout=PATIENCE)


def says(server: Serving, who: str, asked: str, **payload: Any) -> int:
    body = {"status": "resolved", "payload": payload}
    return call(server, who, "POST", f"/interrupts/{asked}/answer", body).status_code


def has_ended(server: Serving, thread: str) -> bool:
    return not call(server, "ann", "GET", f"/threads/{thread}").json()["interrupts"]


def test_a_no_stands_whichever_process_hears_of_it_first(pair: Pair) -> None:
    """Said at the same instant as another's yes on the other one; nobody there gets round it."""
    here, there, folder = pair
    with ThreadPoolExecutor(2) as people:
        for number in range(ROUNDS):
            thread = f"t{number}"
            call(here, "ann", "POST", "/agents/payer", run_input(thread, text=thread))
            shown = call(there, "ann", "GET", f"/threads/{thread}").json()["interrupts"]
            denied, other = (one["id"] for one in shown)
            no = people.submit(says, here, "lea", denied, approved=False, reason="fraud")
            yes = people.submit(says, there, "leo", denied, approved=True)
            assert no.result() == 202
            assert yes.result() in (202, 409)
            taken = call(there, "ann", "DELETE", f"/interrupts/{denied}/answer").status_code
            assert taken in (403, 409)
            assert says(there, "leo", denied, approved=True) == 409
            assert says(there, "leo", other, approved=True) == 200
            until(f"{thread} has ended", partial(has_ended, here, thread))
            history = call(here, "ann", "GET", f"/threads/{thread}/history").json()
            (said,) = (one["answer"] for one in history["interrupts"] if one["id"] == denied)
            assert (said["by"], said["payload"]["approved"]) == ("lea", False)
    wanted = {f"t{number}-b" for number in range(ROUNDS)}
    until("all is paid", lambda: len((folder / "paid").read_text().split()) >= ROUNDS)
    assert set((folder / "paid").read_text().split()) == wanted
