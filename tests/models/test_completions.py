"""`sayso.providers.Completions`: what it sends again, takes for an answer, and hides."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from sayso import DeclarationError, providers
from sayso.providers import Completions, ProviderError
from sayso.testing import FakeCall, FakeProvider, FakeReply, FakeRequest
from tests.models.shop import KEY, shop, talk
from tests.patience import PATIENCE

REQUEST: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}


async def chunks(client: Completions, **more: Any) -> list[Any]:
    """All that comes of one request."""
    stream = await client.create(**REQUEST, stream=True, **more)
    return [chunk async for chunk in stream]


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long the client would have waited before it sent a request again."""
    waited: list[float] = []

    async def sleep(seconds: float) -> None:
        waited.append(seconds)

    monkeypatch.setattr(providers, "asyncio", SimpleNamespace(sleep=sleep))
    return waited


@pytest.mark.parametrize("status", [408, 409, 425, 429, 500, 503])
async def test_a_refusal_for_now_is_sent_again_after_a_while(
    status: int, waits: list[float]
) -> None:
    plan = [FakeReply(status=status), FakeReply(status=status, headers={"retry-after": "7"})]
    with FakeProvider([*plan, FakeReply("There.")]) as provider:
        assert await chunks(Completions(provider.url))
        assert (len(provider.requests), waits) == (3, [0.5, 7.0])


async def test_a_plan_that_raises_is_an_error_of_the_provider_and_fails_the_test(
    waits: list[float],
) -> None:
    def plan(request: FakeRequest) -> FakeReply:
        assert request.text == "hello", "the wrong words"
        return FakeReply("There.")

    with (
        pytest.raises(AssertionError, match="the wrong words"),
        FakeProvider(plan) as provider,
        pytest.raises(ProviderError, match="answered 500"),
    ):
        await chunks(Completions(provider.url, retries=1))
    assert (len(provider.requests), waits) == (2, [0.5])


async def test_it_gives_up_after_its_retries_and_where_it_should_wait_for_long(
    waits: list[float],
) -> None:
    with FakeProvider([FakeReply(status=503)]) as provider:
        with pytest.raises(ProviderError, match="answered 503"):
            await chunks(Completions(provider.url, retries=1))
        assert waits == [0.5]
    with FakeProvider([FakeReply(status=429, headers={"retry-after": "3600"})]) as provider:
        with pytest.raises(ProviderError, match="429"):
            await chunks(Completions(provider.url))
        assert len(provider.requests) == 1


async def test_a_port_where_nobody_listens_is_tried_again(waits: list[float]) -> None:
    with FakeProvider([FakeReply()]) as provider:
        pass
    with pytest.raises(ProviderError, match="nobody answers there") as failed:
        await chunks(Completions(provider.url))
    assert (waits, failed.value.status) == ([0.5, 1.0], None)


async def test_nothing_is_sent_again_once_a_stream_has_begun(waits: list[float]) -> None:
    with FakeProvider([FakeReply("One two three", breaks="closes", after=4)]) as provider:
        with pytest.raises(ProviderError, match="broke off"):
            await chunks(Completions(provider.url))
        assert (len(provider.requests), waits) == (1, [])


async def test_a_stream_that_falls_silent_is_broken() -> None:
    with (
        FakeProvider([FakeReply("One two three", breaks="hangs")]) as provider,
        pytest.raises(ProviderError, match="ReadTimeout"),
    ):
        await chunks(Completions(provider.url, silence=0.2))


@pytest.mark.parametrize("piece", [1, 2, 3, 7, None])
async def test_a_stream_may_be_cut_anywhere(piece: int | None) -> None:
    """Inside JSON, inside a character, inside a line break."""
    reply = FakeReply("Grüße \u2028 \x85 🦊", [FakeCall("look", {"für": "€"})], piece=piece)
    with FakeProvider([reply]) as provider:
        deltas = [
            choice["delta"]
            for chunk in await chunks(Completions(provider.url))
            for choice in chunk["choices"]
        ]
    assert "".join(delta.get("content") or "" for delta in deltas) == "Grüße \u2028 \x85 🦊"
    calls = [call for delta in deltas for call in delta.get("tool_calls", ())]
    assert "".join(call["function"]["arguments"] for call in calls) == '{"für":"€"}'


async def test_a_whole_answer_to_a_request_for_a_stream_is_an_answer() -> None:
    """Some gateways do not stream."""
    with FakeProvider([FakeReply("There.", [FakeCall("look", {})])]) as provider:
        stream = await Completions(provider.url).create(**REQUEST)
        (whole,) = [chunk async for chunk in stream]
        assert whole["choices"][0]["message"]["content"] == "There."


async def test_what_is_no_answer_is_told() -> None:
    html = FakeReply(headers={"content-type": "text/html"})
    with FakeProvider([html, FakeReply(events=[[1, 2]])]) as provider:
        client = Completions(provider.url)
        with pytest.raises(ProviderError, match="text/html: does the base URL lead to an API"):
            await chunks(client)
        with pytest.raises(ProviderError, match="no JSON object"):
            await chunks(client)


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("api.openai.com/v1", "https://"),
        ("", "the URL"),
        ("https://", "names a host"),
        ("ftp://host/v1", "https://"),
        ("https://host/v1?key=abc", "headers="),
    ],
)
def test_a_url_that_leads_nowhere_is_refused(url: str, says: str) -> None:
    with pytest.raises(DeclarationError, match=says) as refused:
        Completions(url)
    assert "abc" not in str(refused.value)


def test_a_key_that_no_header_takes_is_refused_without_being_shown() -> None:
    for wrong in (f"{KEY}\n{KEY}", f"{KEY}é"):
        with pytest.raises(DeclarationError, match="authorization") as refused:
            Completions("http://127.0.0.1:1/v1", api_key=wrong)
        assert KEY not in str(refused.value)
    client = Completions("http://user:secret@127.0.0.1:1/v1/chat/completions/", api_key=f" {KEY}\n")
    assert repr(client) == "Completions('127.0.0.1:1')"
    assert client.base_url.endswith(":1/v1")


async def test_key_and_headers_are_sent() -> None:
    with FakeProvider([FakeReply("There.")]) as provider:
        await chunks(Completions(provider.url, api_key=KEY, headers={"x-shop": "1"}))
        headers = provider.requests[0].headers
        assert (headers["authorization"], headers["x-shop"]) == (f"Bearer {KEY}", "1")


async def test_leaving_a_stream_closes_its_connection() -> None:
    with FakeProvider([FakeReply("One two three four five", pause=0.1)]) as provider:
        stream: Any = await Completions(provider.url).create(**REQUEST, stream=True)
        async with asyncio.timeout(PATIENCE):
            await anext(stream)
            await stream.aclose()
            while not provider.left:  # noqa: ASYNC110 - it counts in a thread of its own
                await asyncio.sleep(0.01)


def test_a_gateway_that_does_not_stream_serves_a_conversation() -> None:
    def whole(request: Any) -> FakeReply:
        return FakeReply("There.")

    with shop("Completions", whole) as made, talk(made) as agent:
        made.chat["stream"] = False
        assert agent.say("hello").text == "There."
