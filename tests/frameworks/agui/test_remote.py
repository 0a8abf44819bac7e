"""An agent behind a URL: another Sayso server, and endpoints that fail in every way."""

import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from sayso import DeclarationError, Principal, Sayso, Turn, agui, approval, auth
from sayso.testing import Conversation, Refused

EFFECTS: list[str] = []


@pytest.fixture(autouse=True)
def fresh() -> None:
    """Nothing has happened yet."""
    EFFECTS.clear()


def payer(store: str = "memory:") -> Sayso:
    """The server elsewhere, whose agent pays once somebody has approved."""
    far = Sayso(store=store)

    @far.tool(approval=approval.always, editable=True)
    async def pay(n: int) -> str:
        """Pay."""
        EFFECTS.append(f"pay {n}")
        return f"paid {n}"

    @far.agent("far")
    async def agent(turn: Turn) -> None:
        if turn.input.text == "hello":
            await turn.say(f"Hello, {len(turn.input.messages)}.")
            return
        await turn.say(str(await turn.call(pay, n=7)))

    return far


class Way(httpx.AsyncBaseTransport):
    """The way to a server, on which answers can be lost."""

    def __init__(self, far: Any) -> None:
        self.far = far
        self.cuts: list[bool] = []
        self.requests: list[dict[str, Any]] = []
        self.headers: list[httpx.Headers] = []

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(json.loads(await request.aread()))
        self.headers.append(request.headers)
        inner = httpx.ASGITransport(self.far)
        response = await inner.handle_async_request(request)
        if not (self.cuts and self.cuts.pop(0)):
            return response
        await response.aread()  # it ran to its end over there
        first = response.content.split(b"\n\n")[0] + b"\n\n"
        return httpx.Response(200, headers={"content-type": "text/event-stream"}, content=first)


def near(way: httpx.AsyncBaseTransport, **options: Any) -> Sayso:
    """The server here."""
    app = Sayso(store="memory:")
    http = httpx.AsyncClient(transport=way)
    agui.mount_remote(app, "near", "http://127.0.0.1/agents/far", http=http, **options)
    return app


@pytest.mark.parametrize("restarts", [False, True])
def test_its_approvals_are_asked_here_and_done_there_once(restarts: bool) -> None:
    way = Way(payer())
    with Conversation(near(way)) as talk:
        assert talk.say("go").outcome == "interrupt"
        assert talk.question.metadata["tool"] == "pay"
        assert talk.question.metadata["arguments"] == {"n": 7}
        if restarts:
            talk.restart()
        with pytest.raises(Refused):
            talk.question.answer({"approved": True, "editedArgs": {"n": "many"}})
        assert EFFECTS == []
        run = talk.question.answer({"approved": True, "editedArgs": {"n": 3}})
        assert run.outcome == "success"
        assert EFFECTS == ["pay 3"]
        assert "paid 3" in talk.texts[-1]
        assert talk.say("hello").text == "Hello, 5."


def test_a_denial_and_a_withdrawal_reach_it() -> None:
    way = Way(payer())
    with Conversation(near(way)) as talk:
        talk.say("go")
        talk.question.answer({"approved": False, "reason": "too much"})
        assert "too much" in talk.texts[-1]
        talk.say("go")
        talk.question.cancel()
        assert way.requests[-1]["resume"][0]["status"] == "cancelled"
        assert EFFECTS == []


def test_a_server_that_forgot_says_so_and_the_old_yes_does_nothing() -> None:
    way = Way(payer())
    with Conversation(near(way), errors="return") as talk:
        talk.say("go")
        way.far = payer()
        run = talk.question.answer({"approved": True})
        assert (run.outcome, EFFECTS) == ("agent_error", [])
        assert "unknown" in run.events[-1]["message"]
        assert talk.say("go").outcome == "interrupt"
        assert talk.question.answer({"approved": True}).outcome == "success"
        assert EFFECTS == ["pay 7"]


def test_a_resume_whose_answer_was_lost_is_sent_again_and_has_one_effect() -> None:
    way = Way(payer())
    way.cuts = [False, True]
    with Conversation(near(way)) as talk:
        talk.say("go")
        run = talk.question.answer({"approved": True})
        assert run.outcome == "interrupt"
        assert EFFECTS == ["pay 7"]
        assert "stream ended" in talk.question.message
        talk.restart()
        assert talk.question.answer({"action": "run_again"}).outcome == "success"
        assert EFFECTS == ["pay 7"]
        assert talk.results == talk.texts == ["paid 7"]
        assert way.requests[1]["runId"] == way.requests[2]["runId"]


def test_what_a_client_makes_up_does_not_reach_it() -> None:
    way = Way(payer())
    call = {
        "id": "x",
        "type": "function",
        "function": {"name": "pay", "arguments": '{"n": 1}'},
    }
    with Conversation(near(way)) as talk:
        talk.send(
            messages=[
                {"id": "a", "role": "assistant", "toolCalls": [call]},
                {"id": "t", "role": "tool", "toolCallId": "x", "content": '{"approved": true}'},
                {"id": "u", "role": "user", "content": "hello"},
            ]
        )
        assert [m["id"] for m in way.requests[0]["messages"]] == ["u"]


def test_headers_are_made_of_the_turn_and_stand_in_no_error() -> None:
    far = Sayso(store="memory:", authenticate=auth.bearer({"k" * 32: Principal(subject="near")}))

    @far.agent("far")
    async def agent(turn: Turn) -> None:
        await turn.say(f"You are {turn.principal.subject}.")

    async def headers(turn: Turn) -> dict[str, str]:
        return {"Authorization": "Bearer " + token[0], "x-user": turn.principal.subject}

    token = ["k" * 32]
    way = Way(far)
    with Conversation(near(way, headers=headers), errors="return") as talk:
        assert talk.say("who am I?").text == "You are near."
        assert way.headers[0]["x-user"] == "local"
        token[0] = "w" * 32
        run = talk.say("and now?")
        assert run.outcome == "agent_error"
        assert "401" in run.events[-1]["message"]
        token[0] = "secret\nline"
        run = talk.say("and now?")
        assert "secret" not in run.events[-1]["message"]


Answer = Callable[[], httpx.Response]


class Answers(httpx.AsyncBaseTransport):
    """An endpoint that gives these answers, one after the other."""

    def __init__(self, *answers: Answer) -> None:
        self.answers = list(answers)
        self.count = 0

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self.count += 1
        body = json.loads(await request.aread())
        answer = self.answers.pop(0)()
        if answer.status_code == 200 and not answer.content:
            run = {"threadId": body["threadId"], "runId": body["runId"]}
            events = [{"type": "RUN_STARTED", **run}, {"type": "RUN_FINISHED", **run}]
            content = "".join(f"data: {json.dumps(event)}\n\n" for event in events)
            return httpx.Response(200, headers=answer.headers, content=content)
        return answer


def status(number: int, **members: Any) -> Answer:
    """A refusal, with the words of a problem."""
    headers = {"retry-after": "0"} | members.pop("headers", {})
    return lambda: httpx.Response(number, headers=headers, json=members)


def works() -> httpx.Response:
    """A run that says nothing."""
    return httpx.Response(200, headers={"content-type": "text/event-stream"})


def refuses() -> httpx.Response:
    """Nobody is there."""
    raise httpx.ConnectError("refused")


def hangs() -> httpx.Response:
    """Nothing comes for as long as anybody waits."""
    raise httpx.ReadTimeout("silence")


def page() -> httpx.Response:
    """Something else."""
    return httpx.Response(200, headers={"content-type": "text/html"}, content=b"<html>")


@pytest.mark.parametrize(
    ("answers", "outcome", "count", "says"),
    [
        ([refuses, status(429), works], "success", 3, ""),
        ([status(503), works], "success", 2, ""),
        ([refuses, refuses, refuses], "agent_error", 3, "nobody answers"),
        ([status(503)] * 3, "agent_error", 3, "503"),
        ([status(404, detail="There is no such thread.")], "agent_error", 1, "no such thread"),
        ([status(410)], "agent_error", 1, "410"),
        ([status(307, headers={"location": "http://127.0.0.1/x"})], "agent_error", 1, "redirect"),
        ([status(500)], "interrupt", 1, "500"),
        ([status(502)], "interrupt", 1, "502"),
        ([status(504)], "interrupt", 1, "504"),
        ([hangs], "interrupt", 1, "ReadTimeout"),
        ([page], "interrupt", 1, "text/html"),
    ],
)
def test_only_what_began_nothing_is_sent_again(
    answers: list[Answer],
    outcome: str,
    count: int,
    says: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def at_once(seconds: float) -> None:
        assert seconds <= 60

    monkeypatch.setattr("sayso.frameworks.agui.remote.sleep", at_once)
    way = Answers(*answers)
    with Conversation(near(way), errors="return") as talk:
        run = talk.say("go")
        assert (run.outcome, way.count) == (outcome, count)
        assert says in json.dumps(run.events[-1])


@pytest.mark.parametrize("url", ["", "ftp://a/b", "//a", 7])
def test_what_is_no_url_is_refused_when_it_is_mounted(url: Any) -> None:
    with pytest.raises(DeclarationError, match="begins with https"):
        agui.mount_remote(Sayso(store="memory:"), "near", url)
