"""The run endpoints: what is answered before a stream, and what becomes one."""

import logging

import pytest

from sayso.base.codes import Code
from sayso.base.errors import Problem, StoreUnavailable
from sayso.base.limits import Limits
from sayso.base.records import Principal
from sayso.protocol.runinput import RunInput
from sayso.streams.reader import Reader
from tests.asgi import JSON, Exchange, call, run_body, scope_of
from tests.contract.requirements import requirement
from tests.http.stub import StubEngine, edge
from tests.stream_checker import check, events_of


def failing(error: Exception) -> StubEngine:
    def answer(_: RunInput) -> Reader:
        raise error

    return StubEngine(answer)


FEW = Limits(body=100, history=40, payload=20)


@requirement("EN-01", "EN-03", "EN-10", "EN-14", "EN-15", "LC-09")
@pytest.mark.parametrize(
    "accept", ["text/event-stream", "*/*", "application/vnd.ag-ui.event+proto"]
)
async def test_a_run_is_answered_with_an_event_stream(accept: str) -> None:
    """Whatever the peer accepts: no protobuf is offered (TR-22)."""
    answer = await call(
        edge(), "POST", "/agents/support", headers=JSON | {"accept": accept}, body=run_body()
    )
    assert answer.status == 200
    assert answer.headers["content-type"] == "text/event-stream"
    assert answer.headers["cache-control"] == "no-cache, no-transform"
    assert answer.headers["x-accel-buffering"] == "no"
    assert "content-length" not in answer.headers
    assert check(events_of(answer.body)) == []


@pytest.mark.parametrize(
    ("path", "asked"),
    [
        ("/agents/support", "run"),
        ("/agents/support/", "run"),
        ("/agents/support?interrupts=standard", "run"),
        ("/agents/support/connect", "connect"),
        ("/agents/support/connect/", "connect"),
    ],
)
@requirement("EN-17")
async def test_a_path_is_served_without_a_redirect(path: str, asked: str) -> None:
    """A redirect would turn the POST into a GET (EN-17)."""
    engine = StubEngine()
    answer = await call(edge(engine), "POST", path, headers=JSON, body=run_body())
    assert answer.status == 200
    assert [(name, agent) for name, agent, _, _ in engine.calls] == [(asked, "support")]


@pytest.mark.parametrize("prefix", ["/sayso", "/sayso/"])
async def test_the_app_works_below_a_prefix(prefix: str) -> None:
    """Mounted in another app (design 6)."""
    engine = StubEngine()
    answer = await call(
        edge(engine),
        "POST",
        "/agents/plain" if not prefix.endswith("/") else "agents/plain",
        headers=JSON,
        body=run_body(),
        root_path=prefix,
    )
    assert answer.status == 200
    assert engine.calls[0][1] == "plain"


@requirement("ER-01", "EN-16", "FC-03", "ER-09")
@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b"", 400, "malformed_json"),
        (b"{", 400, "malformed_json"),
        (b"\xff", 400, "malformed_json"),
        (b"[]", 422, "invalid_input"),
        (b"{}", 422, "invalid_input"),
        (run_body(threadId=5), 422, "invalid_input"),
        (run_body(protocolVersion="2.0"), 422, "unsupported_version"),
        (b"[" * 100_000 + b"]" * 100_000, None, None),
    ],
)
async def test_malformed_input_is_a_problem_and_no_stream(
    body: bytes, status: int | None, code: str | None
) -> None:
    """An HTTP error, JSON, and the engine never hears of it (ER-01)."""
    engine = StubEngine()
    answer = await call(edge(engine), "POST", "/agents/support", headers=JSON, body=body)
    assert 400 <= answer.status < 500
    assert status is None or (answer.status, answer.json["code"]) == (status, code)
    assert answer.headers["content-type"] == "application/problem+json"
    assert engine.calls == []


@requirement("ER-14", "TR-38", "SE-03")
async def test_a_problem_does_not_echo_the_request() -> None:
    """Neither the values nor the members that were sent (TR-38)."""
    sent = "only-the-sender-knows"
    answer = await call(
        edge(),
        "POST",
        "/agents/support",
        headers=JSON,
        body=run_body(threadId={"x": sent}, messages=[{"role": "user", "content": 5, "id": sent}]),
    )
    assert answer.status == 422
    assert sent not in answer.body.decode()
    assert answer.json["errors"]


@requirement("EN-16")
@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"content-type": "text/plain"},
        {"content-type": "application/x-www-form-urlencoded"},
        {"content-type": "application/json; charset=latin-1"},
        {"content-type": "application/jsonx"},
        {"content-type": "application/json", "content-encoding": "gzip"},
    ],
)
async def test_only_json_is_read(headers: dict[str, str]) -> None:
    """What a plain form of another site can send is refused (EN-16)."""
    engine = StubEngine()
    answer = await call(edge(engine), "POST", "/agents/support", headers=headers, body=run_body())
    assert (answer.status, answer.json["code"]) == (415, "unsupported_media_type")
    assert engine.calls == []


@pytest.mark.parametrize(
    "media", ["application/json", "Application/JSON; charset=UTF-8", "application/x+json"]
)
async def test_json_by_any_of_its_names_is_read(media: str) -> None:
    """Clients spell it differently (EN-02)."""
    answer = await call(
        edge(), "POST", "/agents/support", headers={"content-type": media}, body=run_body()
    )
    assert answer.status == 200


@pytest.mark.parametrize("path", ["/agents/nobody", "/agents/nobody/connect"])
async def test_an_unknown_agent_is_a_404_before_the_body_is_read(path: str) -> None:
    """The code tells it from a wrong path (design 5)."""
    answer = await call(edge(), "POST", path, headers=JSON, body=b"not read")
    assert (answer.status, answer.json["code"]) == (404, "unknown_agent")


@pytest.mark.parametrize(
    ("method", "path", "allow"),
    [
        ("PUT", "/agents/support", {"GET", "HEAD", "POST"}),
        ("GET", "/agents/support/connect", {"POST"}),
        ("POST", "/agents", {"GET", "HEAD"}),
        ("POST", "/agents/support/capabilities", {"GET", "HEAD"}),
        ("POST", "/healthz", {"GET", "HEAD"}),
    ],
)
async def test_a_wrong_method_is_told_the_right_ones(
    method: str, path: str, allow: set[str]
) -> None:
    """405 with Allow (design 5)."""
    answer = await call(edge(), method, path, headers=JSON)
    assert (answer.status, answer.json["code"]) == (405, "method_not_allowed")
    assert set(answer.headers["allow"].split(", ")) == allow


async def test_a_path_of_nothing_is_a_404() -> None:
    """As a problem, like every other error (design 5)."""
    answer = await call(edge(), "POST", "/agents/support/other", headers=JSON, body=run_body())
    assert (answer.status, answer.json["code"]) == (404, "not_found")


async def test_a_body_over_the_limit_is_refused_by_its_declared_length() -> None:
    """Before a byte of it is read (design 7)."""
    engine = StubEngine()
    exchange = Exchange([b"x" * 101])
    scope = scope_of("POST", "/agents/support", JSON | {"content-length": "101"})
    await edge(engine, limits=FEW)(scope, exchange.receive, exchange.send)
    answer = exchange.answer
    assert (answer.status, answer.json["code"]) == (413, "body_too_large")
    assert exchange.asked == 0
    assert "100 bytes" in answer.json["detail"]
    assert engine.calls == []


@pytest.mark.parametrize("length", [None, "5", "nonsense", "-1", "٣"])
async def test_a_body_over_the_limit_is_refused_whatever_was_declared(length: str | None) -> None:
    """Chunked, or with a length that lies (design 7)."""
    engine = StubEngine()
    declared = {} if length is None else {"content-length": length.encode().decode("latin-1")}
    answer = await call(
        edge(engine, limits=FEW),
        "POST",
        "/agents/support",
        headers=JSON | declared,
        body=[b"x" * 60, b"x" * 60],
    )
    assert (answer.status, answer.json["code"]) == (413, "body_too_large")
    assert engine.calls == []


async def test_reading_stops_at_the_first_byte_over_the_limit() -> None:
    """The rest of a body without end is never held (design 7)."""
    exchange = Exchange([b"x" * 60] * 1000)
    scope = scope_of("POST", "/agents/support", JSON)
    await edge(limits=FEW)(scope, exchange.receive, exchange.send)
    assert exchange.answer.status == 413
    assert exchange.asked == 2


async def test_a_client_that_leaves_while_it_sends_is_no_error(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """There is nobody to answer, and nothing to run (ER-13)."""
    engine = StubEngine()
    exchange = Exchange([])
    exchange.gone.set()
    await edge(engine)(scope_of("POST", "/agents/support", JSON), exchange.receive, exchange.send)
    assert exchange.answer.status == 0
    assert engine.calls == []
    assert caplog.records == []


async def test_a_body_in_pieces_is_put_together() -> None:
    """As proxies send it (design 5)."""
    whole = run_body()
    engine = StubEngine()
    answer = await call(
        edge(engine, limits=Limits(body=len(whole), history=10, payload=10)),
        "POST",
        "/agents/support",
        headers=JSON,
        body=[whole[:7], b"", whole[7:]],
    )
    assert answer.status == 200
    assert engine.calls[0][2].thread_id == "t"


async def test_a_problem_of_the_engine_is_answered_as_such() -> None:
    """A foreign thread, say (design 7)."""
    engine = failing(Problem(Code.UNKNOWN_THREAD, "There is no such thread."))
    answer = await call(edge(engine), "POST", "/agents/support", headers=JSON, body=run_body())
    assert (answer.status, answer.json["code"]) == (404, "unknown_thread")


async def test_an_unreachable_store_is_a_503_that_may_be_tried_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Nothing was changed, and the address of the store stays in the log (ER-14)."""
    engine = failing(StoreUnavailable("cannot reach db://secret"))
    answer = await call(edge(engine), "POST", "/agents/support", headers=JSON, body=run_body())
    assert (answer.status, answer.json["code"]) == (503, "store_unavailable")
    assert answer.headers["retry-after"] == "1"
    assert "secret" not in answer.body.decode()
    assert "db://secret" in caplog.text


@requirement("ER-14")
async def test_what_is_unforeseen_is_logged_and_shown_without_details(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """No stack, no text of the exception (ER-14)."""
    engine = failing(RuntimeError("password=hunter2"))
    with caplog.at_level(logging.ERROR, "sayso.http"):
        answer = await call(edge(engine), "POST", "/agents/support", headers=JSON, body=run_body())
    assert (answer.status, answer.json["code"]) == (500, "internal_error")
    assert "hunter2" not in answer.body.decode()
    assert "hunter2" in caplog.text


async def test_a_whole_body_is_noted_as_delivered() -> None:
    """It tells a retried request from a regenerated one (design 4)."""
    engine = StubEngine()
    await call(edge(engine), "POST", "/agents/support", headers=JSON, body=run_body())
    assert engine.noted == [("run_1", Principal())]


async def test_a_delivery_that_cannot_be_noted_is_no_error_of_the_run(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The body is out already; a retry is answered with the run again (design 4)."""
    engine = StubEngine()
    engine.delivery_fault = StoreUnavailable("gone")
    answer = await call(edge(engine), "POST", "/agents/support", headers=JSON, body=run_body())
    assert answer.ended
    assert "run_1" in caplog.text
