"""What a person does at another place, so that a credential never passes through here."""

from typing import Any

import pytest

from sayso import Turn
from sayso.turns.ask.decisions import host_of
from tests.contract.rest import get
from tests.contract.server import Server, answer, cancel

URL = "https://Login.example.org:8443/start?state=a%20b"


def signing_in(server: Server, **terms: Any) -> Any:
    async def agent(turn: Turn) -> None:
        done = await turn.ask_elsewhere(URL, "Sign in to the bank.", **terms)
        server.effects.append((done.status, done.value, str(done)))

    return server.client(agent)


@pytest.mark.parametrize(
    ("given", "came"),
    [
        (answer({"action": "done"}), ("resolved", True)),
        (answer({"action": "deny"}), ("resolved", False)),
        (cancel(), ("cancelled", None)),
    ],
)
async def test_a_person_goes_elsewhere_and_says_whether_it_is_done(
    server: Server, given: Any, came: tuple[str, bool | None]
) -> None:
    """Also after a restart; clients that know no such question read the address in its message."""
    client = signing_in(server, metadata={"shop": 1})
    (asked,) = (await client.say()).interrupts
    assert asked["reason"] == "sayso:elsewhere"
    ours = asked["metadata"]["sayso"]
    about = {"kind": "elsewhere", "url": URL, "host": "login.example.org:8443"}
    assert about.items() <= ours.items() and ours["text"] == "Sign in to the bank."
    assert asked["metadata"]["shop"] == 1
    assert "login.example.org:8443" in asked["message"] and URL in asked["message"]
    await client.again(app=server.another()).connect()
    await client.resume(given)
    ((status, value, said),) = server.effects
    assert (status, value) == came
    assert said.startswith("Sign in to the bank.") or "Sign in to the bank." in said
    (row,) = [
        row
        for row in (await get(server, f"/audit?thread={client.thread}"))["items"]
        if row["kind"] in ("resolved", "cancelled")
    ]
    assert row["content"].get("payload") == given.get("payload")


@pytest.mark.parametrize(
    "payload",
    [
        {"action": "done", "password": "hunter2"},
        {"action": "done", "note": "hunter2"},
        {"action": "hunter2"},
        "hunter2",
        True,
        {},
    ],
)
async def test_no_answer_takes_a_text(server: Server, payload: Any) -> None:
    """Whoever types the credential here all the same is refused, and nothing of it is kept."""
    client = signing_in(server)
    await client.say()
    refused = await client.resume(answer(payload))
    assert refused.outcome == "invalid_payload"
    assert "hunter2" not in server.dump() + repr(refused.events)
    assert server.effects == []


@pytest.mark.parametrize(
    "url",
    [
        "http://example.org/",
        "http://127.0.0.1.example.org/",
        "http://localhost.example.org/",
        "https://bank.example.org@evil.example/",
        "https://user:hunter2@example.org/",
        "https:///path",
        "https://h:99999/",
        "https://h:0/",
        "//example.org/",
        "javascript:alert(1)",
        "data:text/html,hi",
        "https://exämple.org/",
        "https://example.org/a b",
        "https://example.org\\@evil.example/",
        "https://example.org/\n",
        "https://[::1",
        f"https://example.org/{'a' * 2048}",
        None,
        5,
        b"https://example.org/",
    ],
)
def test_nobody_is_sent_to_an_address_that_is_not_what_it_seems(url: Any) -> None:
    with pytest.raises(ValueError, match=r"ask_elsewhere") as refused:
        host_of(url)
    assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://example.org", "example.org"),
        ("https://xn--exmple-cua.org/ä".replace("ä", "%C3%A4"), "xn--exmple-cua.org"),
        ("http://localhost:8000/x", "localhost:8000"),
        ("http://shop.localhost/", "shop.localhost"),
        ("http://127.0.0.9/", "127.0.0.9"),
        ("http://[::1]:8000/", "[::1]:8000"),
    ],
)
def test_https_leads_anywhere_and_http_to_this_machine(url: str, host: str) -> None:
    assert host_of(url) == host
