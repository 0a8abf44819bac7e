"""The client and this server: in process, and over a socket with restarts in between."""

import io
import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from sayso import Secret, Turn, approval
from sayso.cli.chat.questions import ask_person
from sayso.cli.chat.terminal import Terminal
from sayso.client import CANCEL, Client, Expired, PartialAnswers, RefusedByServer
from sayso.demo.app import demo_app
from sayso.demo.settings import Settings
from sayso.demo.tools import Delay
from sayso.testing import FakeClock
from tests.apps import app_with
from tests.contract.requirements import requirement
from tests.server import DemoServer, Event
from tests.stores.backends import codec

LIFE = 60.0


class Desk:
    """Clients of one demo; `client()` is a new one, as after a reload."""

    def __init__(self, http: httpx.AsyncClient, clock: FakeClock) -> None:
        self.http = http
        self.clock = clock
        self.warnings: list[str] = []

    def client(self, thread_id: str = "t-1") -> Client:
        return Client(
            "http://localhost/agents/ops",
            thread_id=thread_id,
            http=self.http,
            clock=self.clock,
            warn=self.warnings.append,
        )

    async def done(self) -> list[str]:
        answer = await self.http.get("http://localhost/demo/effects")
        return [effect["kind"] for effect in answer.json()["effects"]]


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    clock = FakeClock()
    settings = Settings(
        host="127.0.0.1",
        port=8000,
        store="memory:",
        data=str(tmp_path),
        expires_in=LIFE,
        keep_alive=15.0,
    )
    app = demo_app(settings, clock=clock, pace=Delay(piece=0, work=0))
    async with app.lifespan(), httpx.AsyncClient(transport=httpx.ASGITransport(app=app)) as http:
        desk = Desk(http, clock)
        yield desk
        assert desk.warnings == []


async def run(client: Client, text: str) -> list[Event]:
    return [event async for event in client.run(text)]


async def resume(client: Client, answers: dict[str, Any]) -> list[Event]:
    return [event async for event in client.resume(answers)]


def ids(client: Client) -> list[str]:
    return [interrupt["id"] for interrupt in client.pending]


def every(client: Client, answer: Any) -> dict[str, Any]:
    return dict.fromkeys(ids(client), answer)


async def test_an_approval_is_asked_for_and_given(desk: Desk) -> None:
    """CL-01, CL-06, CL-18: the call is on the card, its effect happens once."""
    client = desk.client()
    await run(client, "refund")
    (interrupt,) = client.pending
    call = client.call(interrupt["toolCallId"])
    assert call is not None
    assert call["function"]["name"] == "issue_refund"
    assert await desk.done() == []
    await resume(client, {interrupt["id"]: {"approved": True}})
    assert (client.outcome, client.pending) == ("success", [])
    assert len(await desk.done()) == 1
    assert client.messages[-1]["role"] == "assistant"


async def test_a_thread_is_opened_again_by_another_client(desk: Desk) -> None:
    """CL-10: messages and open questions are back, and answered there."""
    first, second = desk.client(), desk.client()
    await run(first, "refund")
    _ = [event async for event in second.connect()]
    assert second.pending == first.pending
    shown = [(message["id"], message["role"]) for message in second.messages]
    assert shown == [(message["id"], message["role"]) for message in first.messages]
    await resume(second, every(second, {"approved": False, "reason": "no"}))
    assert second.outcome == "success"
    assert await desk.done() == []


async def test_a_refused_answer_leaves_the_question_and_a_right_one_goes_through(
    desk: Desk,
) -> None:
    """CL-07, CL-11: no message past a question, no answer without its form's figures."""
    client = desk.client()
    await run(client, "quarterly")
    with pytest.raises(PartialAnswers):
        await run(client, "hello?")
    filing = {"quarter": "Q3", "year": 2026, "revenue": 1.5}
    await resume(client, every(client, filing))
    assert await desk.done() == ["filing"]


async def test_an_expired_question_can_only_be_given_up(desk: Desk) -> None:
    """EX-02: by the client's own clock, before anything is sent."""
    client = desk.client()
    await run(client, "deploy")
    await desk.clock.advance(LIFE)
    with pytest.raises(Expired):
        await resume(client, every(client, {"approved": True}))
    await resume(client, every(client, CANCEL))
    assert client.pending == []
    assert await desk.done() == []


@requirement("EX-07")
async def test_a_client_whose_clock_is_wrong_withholds_no_answer(desk: Desk) -> None:
    """This machine's clock is far from the server's, where the question is as good as new."""
    client = Client("http://localhost/agents/ops", http=desk.http, warn=desk.warnings.append)
    await run(client, "deploy")
    assert abs(client.now() - desk.clock.now()) < 60_000
    asked = ids(client)
    await resume(client, every(client, {"approved": True}))
    assert not set(asked) & set(ids(client))


async def test_who_is_unknown_is_told_so(desk: Desk) -> None:
    """ER-01: the problem's code."""
    client = Client("http://localhost/agents/nobody", http=desk.http)
    with pytest.raises(RefusedByServer) as caught:
        await run(client, "go")
    assert (caught.value.status, caught.value.code) == (404, "unknown_agent")


async def test_an_answer_survives_a_restart_of_the_server(tmp_path: Path) -> None:
    """CL-07, CR-5: asked, killed, started again, answered, and answered once."""
    with DemoServer(tmp_path, watched=False) as server:
        async with Client(f"{server.url}/agents/ops", thread_id="t-1") as client:
            await run(client, "refund")
            server.restart()
            await resume(client, every(client, {"approved": True}))
            assert client.outcome == "success"
        assert len(server.kinds("t-1")) == 1


@pytest.mark.parametrize("left", ["as it is shown", "(not shown)"])
async def test_a_person_edits_other_arguments_and_leaves_the_secret(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], left: str
) -> None:
    """On a terminal, where its place does not fit the form; another argument still has to."""
    clock, signed = FakeClock(), list[str]()
    app = app_with(store="memory:", codec=codec(), clock=clock, console=False)

    @app.tool(approval=approval.always, editable=True)
    async def sign_in(user: str, pin: Secret[int]) -> str:
        signed.append(f"{user} {pin.reveal()}")
        return "signed in"

    @app.agent("bank")
    async def bank(turn: Turn) -> None:
        await turn.call(sign_in, {"user": "ann", "pin": 271828182})

    transport = httpx.ASGITransport(app=app)
    async with app.lifespan(), httpx.AsyncClient(transport=transport) as http:
        client = Client("http://localhost/agents/bank", thread_id="t", http=http, clock=clock)
        await run(client, "go")
        (asked,) = client.pending
        shown = asked["metadata"]["sayso"]["arguments"]
        pin = shown["pin"] if left == "as it is shown" else left
        lines = ["e", *(json.dumps({"user": user, "pin": pin}) for user in (7, "lea"))]
        monkeypatch.setattr(sys, "stdin", io.StringIO("\n".join([*lines, ""])))
        call = {"function": {"name": "sign_in", "arguments": "{}"}}
        answer = ask_person(asked, call, Terminal(), clock.now)
        assert "/user" in capsys.readouterr().out
        await resume(client, {asked["id"]: answer})
    assert signed == ["lea 271828182"]
