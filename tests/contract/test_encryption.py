"""What a user, a model or a tool has said stands nowhere in an encrypted store."""

from base64 import b64decode
from pathlib import Path
from secrets import token_hex

import pytest

from sayso import Question, Turn, approval
from tests.contract.rest import at_rest, inbox, post
from tests.contract.server import Server, answer, approve, deny, served
from tests.stores.backends import ENCRYPTED

PLACES = (
    *("user", "context", "property", "given state", "state", "kept", "note", "assistant"),
    *("step result", "activity", "question", "metadata", "schema", "reason", "error", "outcome"),
    *("held answer", "answer", "answer metadata", "argument", "result", "edited", "remembered"),
)
"""Wherever somebody may write a secret."""


class Secrets:
    """A text of its own for each place, and which of them were seen in a store."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._texts = {place: f"{place.replace(' ', '')}{token_hex(8)}" for place in PLACES}
        self.seen: set[str] = set()

    def __getitem__(self, place: str) -> str:
        return self._texts[place]

    def look(self) -> None:
        """Look at all that is stored, also at pages of a file that hold nothing any more."""
        stored = self._server.dump().lower()
        files = [path.read_bytes() for path in self._server.folder.glob("sayso.db*")]
        for place, text in self._texts.items():
            written = text.encode()
            if text in stored or written.hex() in stored or any(written in f for f in files):
                self.seen.add(place)


async def told(server: Server) -> Secrets:
    """A conversation with a secret at each place; the store is looked at after each request."""
    secret = Secrets(server)

    async def look_up(text: str) -> str:
        return secret["step result"]

    @server.app.tool(approval=approval.always(remember=True), editable=True)
    async def file(text: str) -> str:
        return secret["result"]

    @server.app.tool(on_error="text")
    async def fail() -> str:
        raise ValueError(secret["error"])

    async def agent(turn: Turn) -> str:
        await turn.step(look_up, "text")
        await turn.say(secret["assistant"])
        await turn.set("/plan", secret["state"])
        await turn.activity("note", {"text": secret["activity"]})
        await turn.note("shop:note", secret["note"])
        turn.keep("note", b64decode(secret["kept"]))
        schema = {"type": "object", "description": secret["schema"]}
        note = {"note": secret["metadata"]}
        await turn.interrupt_all(
            [
                Question(
                    reason="input_required",
                    message=secret["question"],
                    schema=schema,
                    metadata=note,
                ),
                Question(reason="input_required", message="And?", schema=schema),
            ]
        )
        await turn.call(file, text=secret["argument"])
        await turn.call(file, text=secret["remembered"])
        await turn.call(file, text="denied")
        await turn.call(fail)
        return secret["outcome"]

    client = server.client(agent)
    context = [{"description": "page", "value": secret["context"]}]
    properties = {"note": secret["property"]}
    client.model.state = {"given": secret["given state"]}
    await client.say(secret["user"], context=context, forwardedProps=properties)
    secret.look()
    first, second = [item["id"] for item in client.model.pending]
    await post(server, f"/interrupts/{first}/answer", answer({"text": secret["held answer"]}))
    secret.look()
    last = answer({"text": secret["answer"]}, metadata={"note": secret["answer metadata"]})
    await post(server, f"/interrupts/{second}/answer", last)
    await at_rest(server, client)
    secret.look()
    for payload in (
        approve(editedArgs={"text": secret["edited"]}),
        approve(remember=True),
        deny(secret["reason"]),
    ):
        (one,) = [item["id"] for item in await inbox(server, "?status=open")]
        secret.look()
        await post(server, f"/interrupts/{one}/answer", payload)
        await at_rest(server, client)
        secret.look()
    run = await client.again().connect()
    assert run.events
    return secret


async def test_nothing_that_was_said_stands_in_an_encrypted_store(tmp_path: Path) -> None:
    """Without encryption each of these texts is found: so the search finds what is there."""
    async with served("sqlite", tmp_path) as server:
        assert set(PLACES) - (await told(server)).seen == set()


@pytest.mark.parametrize("kind", ENCRYPTED)
async def test_an_encrypted_store_betrays_nothing(kind: str, tmp_path: Path) -> None:
    """Tables, logs of the file and keys are searched for the texts, while they wait and later."""
    async with served(kind, tmp_path) as server:
        assert (await told(server)).seen == set()
