"""Each code through each way in: what a client is told, and what it makes of it.

The gate, or the engine, is made to give one code after the other; the rest is the server's own.
"""

import json
from collections.abc import AsyncIterator, Mapping
from typing import Any

import httpx
import pytest

from sayso import AgentOptions, CopilotKit, Sayso, Turn
from sayso.base.codes import Code
from sayso.base.errors import Problem
from sayso.client import Client
from sayso.client.errors import RefusedByServer
from sayso.client.thread import ThreadState
from sayso.engine import answers, requests
from sayso.engine.requests import Requests
from sayso.gate.refusals import Refuse
from sayso.protocol.client_profile import ClientProfile
from sayso.protocol.frames import events_in
from sayso.streams.ending import Ending
from sayso.testing import Conversation, Refused
from sayso.testing.runs import RunResult
from tests.asgi import JSON, Answer, call, run_body

Json = dict[str, Any]
REFUSALS = [code for code in Code if "refusal" in code.facts.kinds]
PROBLEMS = [code for code in Code if "problem" in code.facts.kinds]
ENDINGS = [code for code in Code if "ending" in code.facts.kinds]


def gate_refuses(monkeypatch: pytest.MonkeyPatch, code: Code) -> None:
    """Have the gate refuse all that comes, runs and answers of the inbox alike."""

    def refuse(*_: Any, **__: Any) -> Refuse:
        return Refuse(code, f"no: {code}", {"code": code.value})

    for service in (requests, answers):
        monkeypatch.setattr(service, "decide", refuse)


def engine_raises(monkeypatch: pytest.MonkeyPatch, code: Code) -> None:
    """Have the engine answer all that comes without a stream."""

    async def run(*_: Any, **__: Any) -> None:
        raise Problem(code, f"no: {code}")

    monkeypatch.setattr(Requests, "run", run)


def asking(refusals: Any = "error") -> Sayso:
    """An app whose agent asks one question."""
    app = Sayso(store="memory:", agent_defaults=AgentOptions(refusals=refusals))
    app.mount(CopilotKit())

    @app.agent("a")
    async def agent(turn: Turn) -> None:
        await turn.interrupt("confirmation", "Go on?")

    return app


@pytest.fixture
async def app() -> AsyncIterator[Sayso]:
    app = asking()
    async with app.lifespan(app):
        yield app


@pytest.fixture
async def recovering() -> AsyncIterator[Sayso]:
    app = asking("recover")
    async with app.lifespan(app):
        yield app


def run(**members: Any) -> bytes:
    return run_body(protocolVersion="1.0", **members)


async def post(app: Sayso, path: str, body: bytes = b"") -> Answer:
    return await call(app, "POST", path, headers=JSON, body=body or run())


def last(answer: Answer) -> Json:
    return events_in(answer.body)[-1]


def ours(event: Mapping[str, Any]) -> Json:
    return event["metadata"]["sayso"]  # type: ignore[no-any-return]  # metadata is an object


async def test_every_refusal_ends_a_run_with_its_code_and_its_mark(
    app: Sayso, monkeypatch: pytest.MonkeyPatch
) -> None:
    for code in REFUSALS:
        gate_refuses(monkeypatch, code)
        event = last(await post(app, "/agents/a"))
        assert (event["type"], event["code"]) == ("RUN_ERROR", code)
        assert ours(event) == {"code": code, "refused": True}


@pytest.mark.parametrize("path", ["/agents/a", "/copilotkit/agent/a/run"])
async def test_every_refusal_over_an_open_question_asks_it_again_with_its_code(
    recovering: Sayso, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    """In recover mode; but for another agent's thread, whose question is not this agent's."""
    asked = last(await post(recovering, path))["outcome"]["interrupts"][0]
    for code in REFUSALS:
        gate_refuses(monkeypatch, code)
        event = last(await post(recovering, path))
        assert ours(event)["refused"] is True
        if code is Code.WRONG_AGENT:
            assert (event["type"], event["code"]) == ("RUN_ERROR", code)
            continue
        (again,) = event["outcome"]["interrupts"]
        assert again["id"] == asked["id"]
        assert ours(again)["problem"]["code"] == ours(event)["problem"]["code"] == code


async def test_a_refusal_that_is_fatal_ends_in_an_error_where_nothing_waits(
    recovering: Sayso, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The others end in how the thread stands."""
    asked = last(await post(recovering, "/agents/a"))["outcome"]["interrupts"][0]
    answer = {"interruptId": asked["id"], "status": "resolved", "payload": {"approved": True}}
    event = last(await post(recovering, "/agents/a", run(resume=[answer])))
    assert event["outcome"] == {"type": "success"}
    for code in REFUSALS:
        gate_refuses(monkeypatch, code)
        event = last(await post(recovering, "/agents/a"))
        assert event["type"] == ("RUN_ERROR" if code.facts.fatal else "RUN_FINISHED")
        assert ours(event)["refused"] is True


async def test_every_refusal_is_a_problem_of_a_plain_session(
    app: Sayso, monkeypatch: pytest.MonkeyPatch
) -> None:
    chat = json.dumps({"message": "hi"}).encode()
    for code in REFUSALS:
        gate_refuses(monkeypatch, code)
        answer = await post(app, "/api/v1/chat", chat)
        if code is Code.INTERRUPTS_PENDING:  # the session shows what is asked instead
            assert last(answer)["type"] == "done"
        else:
            assert (answer.status, answer.json["code"]) == (code.facts.status, code)


async def test_every_refusal_is_a_problem_of_the_inbox(
    app: Sayso, monkeypatch: pytest.MonkeyPatch
) -> None:
    (asked,) = last(await post(app, "/agents/a"))["outcome"]["interrupts"]
    body = json.dumps({"status": "resolved", "payload": {"approved": True}}).encode()
    for code in REFUSALS:
        gate_refuses(monkeypatch, code)
        answer = await post(app, f"/interrupts/{asked['id']}/answer", body)
        assert (answer.status, answer.json["code"]) == (code.facts.status, code)


def test_every_refusal_is_raised_in_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    """By its mark, whatever the app says of refusals."""
    for app in (asking(), asking("recover")):
        with Conversation(app) as agent:
            agent.say("hi")
            for code in REFUSALS:
                gate_refuses(monkeypatch, code)
                with pytest.raises(Refused) as refused:
                    agent.say("more")
                assert refused.value.code == code
                with pytest.raises(Refused) as refused:
                    agent.question.approve()
                assert refused.value.code == code
            monkeypatch.undo()


async def test_every_refusal_is_known_as_one_to_the_python_client(
    app: Sayso, monkeypatch: pytest.MonkeyPatch
) -> None:
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport) as http:
        for code in REFUSALS:
            client = Client("http://localhost:8000/agents/a", http=http)
            gate_refuses(monkeypatch, code)
            assert [event["type"] async for event in client.run("hi")][-1] == "RUN_ERROR"
            assert client.refused
            assert client.error is not None
            assert client.error["code"] == code


async def test_every_problem_is_told_by_each_dialect_with_its_status(
    app: Sayso, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before there is a stream; the CopilotKit runtime has a body of its own for them."""
    chat = json.dumps({"message": "hi"}).encode()
    for code in PROBLEMS:
        engine_raises(monkeypatch, code)
        for path, body, member in (
            ("/agents/a", b"", "code"),
            ("/copilotkit/agent/a/run", b"", "error"),
            ("/api/v1/chat", chat, "code"),
        ):
            if code is Code.INTERRUPTS_PENDING and body is chat:
                continue  # the session shows what is asked instead
            answer = await post(app, path, body)
            assert (answer.status, answer.json[member]) == (code.facts.status, code), path


async def test_every_problem_is_an_error_of_the_python_client(
    app: Sayso, monkeypatch: pytest.MonkeyPatch
) -> None:
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport) as http:
        for code in PROBLEMS:
            client = Client("http://localhost:8000/agents/a", http=http)
            engine_raises(monkeypatch, code)
            with pytest.raises(RefusedByServer) as refused:
                [event async for event in client.run("hi")]
            assert (refused.value.status, refused.value.code) == (code.facts.status, code)


@pytest.mark.parametrize("speaks_v1", [True, False])
def test_every_ending_is_an_outcome_and_no_refusal(speaks_v1: bool) -> None:
    """`thread_too_large` is both: only the mark tells them apart."""
    for code in ENDINGS:
        ending = Ending(type="error", code=code.value, message="no", details={"code": code.value})
        events = tuple(events_in(ending.last_frames("t", "r", ClientProfile(speaks_v1=speaks_v1))))
        assert events[-1]["type"] == "RUN_ERROR"
        assert RunResult(events).outcome == code
        thread = ThreadState()
        thread.apply(events[-1], [])
        cut = code is Code.TOKEN_EXPIRED  # the reader was cut off, and the run continues
        assert (thread.outcome, thread.signed_out) == (None if cut else "error", cut)
        assert not thread.refused
