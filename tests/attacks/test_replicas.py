"""Two replicas on one store, and people who say things at both in the same instant."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests import plain
from tests.patience import PATIENCE
from tests.process.test_serve import serving
from tests.server import run_input, until
from tests.stores.backends import SHARED

AGENTS = """
import os
from pathlib import Path
from sayso import Approvers, Principal, Sayso, ServerOptions, Turn, approval

async def who(scope):
    given = dict(scope["headers"]).get(b"authorization", b"").decode()
    name, _, roles = given.partition("|")
    return Principal(subject=name, roles=tuple(filter(None, roles.split(",")))) if name else None

app = Sayso(authenticate=who, server=ServerOptions(console=False))
two = Approvers(by="lead", approvals=2, not_by="requester")

@app.tool(approval=approval.always(approvers=two), editable=True)
async def pay(amount: float, to: str) -> str:
    with Path(os.environ["EFFECTS"]).open("a") as effects:
        effects.write(f"{to} {amount:g}\\n")
    return "paid"

@app.agent("pays")
async def pays(turn: Turn) -> None:
    await turn.call(pay, amount=1.0, to=turn.input.text)
"""
YES = {"status": "resolved", "payload": {"approved": True}}
NO = {"status": "resolved", "payload": {"approved": False}}
ANN, LEA, LEO, LES = "ann|lead", "lea|lead", "leo|lead", "les|lead"
ROUNDS = 5

Word = Callable[[int], httpx.Response]


class Pair:
    """Two servers on one store, and what was paid."""

    def __init__(self, urls: list[str], effects: Path) -> None:
        self._urls, self._effects = urls, effects
        self._threads = 0

    def request(self, place: int, who: str, method: str, path: str, body: Any) -> httpx.Response:
        url = f"{self._urls[place % 2]}{path}"
        return plain.request(
            method, url, json=body, headers={"authorization": who}, timeout=PATIENCE
        )

    def ask(self) -> tuple[str, str]:
        """A thread of Ann's that waits for two leads, and what it asks."""
        self._threads += 1
        thread = f"t{self._threads}"
        self.request(0, ANN, "POST", "/agents/pays", run_input(thread, text=thread))
        (asked,) = self.request(1, ANN, "GET", f"/threads/{thread}", None).json()["interrupts"]
        return thread, asked["id"]

    def does(self, who: str, method: str, path: str, body: Any = None) -> Word:
        return lambda place: self.request(place, who, method, path, body)

    def says(self, who: str, asked: str, said: Any) -> Word:
        return self.does(who, "POST", f"/interrupts/{asked}/answer", said)

    def at_once(self, *words: Word) -> list[int]:
        """The statuses of what is done in the same instant, at one and the other in turns."""
        with ThreadPoolExecutor(len(words)) as pool:
            taken = pool.map(lambda place: words[place](place).status_code, range(len(words)))
            return list(taken)

    def paid(self, thread: str) -> list[str]:
        """What was paid in a thread, once that rests."""

        def rests() -> bool:
            shown = self.request(0, ANN, "GET", f"/threads/{thread}", None)
            return bool(shown.json()["status"] != "running")

        until(f"{thread} rests", rests)
        lines = self._effects.read_text().splitlines() if self._effects.exists() else []
        return [line for line in lines if line.startswith(f"{thread} ")]


@pytest.fixture(scope="module", params=list(SHARED))
def pair(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Pair]:
    folder = tmp_path_factory.mktemp("attacked")
    (folder / "attacked.py").write_text(AGENTS)
    store = ("--store", SHARED[request.param](folder))
    effects = folder / "effects"
    with ExitStack() as stack:
        urls = [
            stack.enter_context(serving(folder, "attacked:app", *store, EFFECTS=str(effects)))[0]
            for _ in range(2)
        ]
        yield Pair(urls, effects)


def test_one_person_who_agrees_everywhere_at_once_is_one(pair: Pair) -> None:
    """With the same words and with others, and with an edit."""
    more = {"approved": True, "editedArgs": {"amount": 9, "to": "lea"}}
    edit = {"status": "resolved", "payload": more}
    for said in (YES, {**YES, "payload": {"approved": True, "reason": "mine"}}, edit):
        thread, asked = pair.ask()
        assert set(pair.at_once(*[pair.says(LEA, asked, said)] * 6)) == {202}
        assert set(pair.at_once(*[pair.says(ANN, asked, YES)] * 4)) == {403}
        assert pair.paid(thread) == []


def test_two_who_agree_to_different_calls_at_once_have_agreed_to_none(pair: Pair) -> None:
    for _ in range(ROUNDS):
        thread, asked = pair.ask()
        edit = {"approved": True, "editedArgs": {"amount": 9, "to": thread}}
        changed = {"status": "resolved", "payload": edit}
        assert pair.at_once(pair.says(LEA, asked, YES), pair.says(LEO, asked, changed)) == [202] * 2
        assert pair.paid(thread) == []


def test_of_a_yes_and_a_no_at_once_one_counts(pair: Pair) -> None:
    for _ in range(ROUNDS):
        thread, asked = pair.ask()
        assert pair.says(LEA, asked, YES)(0).status_code == 202
        taken = pair.at_once(pair.says(LEO, asked, YES), pair.says(LES, asked, NO))
        assert sorted(taken) == [200, 409]
        assert len(pair.paid(thread)) == (taken == [200, 409])


def test_a_yes_that_is_withdrawn_at_once_with_the_second_counts_or_does_not(pair: Pair) -> None:
    for _ in range(ROUNDS):
        thread, asked = pair.ask()
        pair.says(LEA, asked, YES)(0)
        withdrawn, second = pair.at_once(
            pair.does(LEA, "DELETE", f"/interrupts/{asked}/answer"), pair.says(LEO, asked, YES)
        )
        assert (withdrawn, second) in ((200, 202), (409, 200))
        assert len(pair.paid(thread)) == (second == 200)


@pytest.mark.parametrize("then", ["stop", "restart", "fork"])
def test_what_ends_or_copies_a_turn_at_once_with_the_last_yes_pays_once_or_not(
    pair: Pair, then: str
) -> None:
    for _ in range(ROUNDS):
        thread, asked = pair.ask()
        pair.says(LEA, asked, YES)(0)
        path, body = f"/threads/{thread}/{then}", {"interruptId": asked} if then == "fork" else {}
        second, _ = pair.at_once(pair.says(LEO, asked, YES), pair.does(ANN, "POST", path, body))
        assert len(pair.paid(thread)) == (second == 200)
