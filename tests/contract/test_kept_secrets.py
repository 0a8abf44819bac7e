"""Under a codec the secrets of an answer are kept apart from it, and reach the agent alone."""

import json
import logging
from collections.abc import AsyncIterator
from pathlib import Path
from secrets import randbelow, token_hex
from typing import Any, NamedTuple

import pytest
from pydantic import BaseModel, SecretStr

from sayso import (
    Answer,
    Approvers,
    Legacy,
    Principal,
    Question,
    Secret,
    Tool,
    Turn,
    approval,
    auth,
)
from sayso.stores.base import Store
from tests.contract.optional import client_of
from tests.contract.rest import JSON, at_rest, call, delete, get, post
from tests.contract.server import Client, Server, answer, served, taken_over
from tests.contract.test_tracing import traced
from tests.stores.backends import ENCRYPTED


class Login(BaseModel):
    user: str
    password: SecretStr
    pin: Secret[int]
    codes: list[Secret[str]] = []


class Nest(BaseModel):
    """Secrets wherever a type may have one."""

    inner: "Nest | None" = None
    pair: tuple[int, Secret[str]] | None = None
    named: dict[str, Secret[str]] = {}
    maybe: Secret[list[str]] | None = None


@pytest.fixture(params=ENCRYPTED)
async def sealed(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Server]:
    async with served(request.param, tmp_path) as server:
        yield server


def given() -> tuple[dict[str, Any], list[str]]:
    """A login, and the texts of it that nobody may see."""
    pin, texts = 10**15 + randbelow(10**15), [token_hex(12) for _ in range(3)]
    login = {"user": "ann", "password": texts[0], "pin": pin, "codes": texts[1:]}
    return login, [*texts, str(pin)]


def password_of(login: Answer[Login]) -> str:
    """The password of an answer."""
    assert login.value is not None
    return login.value.password.get_secret_value()


async def kept(store: Store, thread: str) -> str:
    """All that is stored of a thread, as its server reads it, but for what is kept apart."""
    scope = "default"
    view = await store.load(scope, thread)
    assert view is not None and view.turn is not None
    rows = await store.audit(scope, thread_id=thread)
    runs = await store.runs(scope, thread)
    return repr([view, await store.journal(scope, view.turn.key), rows, runs])


async def told(server: Server, client: Client, asked: str) -> str:
    """All that is served about it."""
    paths = (
        f"/interrupts/{asked}",
        "/interrupts?status=all",
        f"/threads/{client.thread}",
        f"/threads/{client.thread}/history",
        f"/audit?thread={client.thread}",
    )
    return repr([await get(server, path) for path in paths])


class Seen(NamedTuple):
    """The texts of a login, and wherever they might have been told."""

    texts: list[str]
    told: list[str]


async def said(sealed: Server) -> Seen:
    """A login that is held, then settled; the agent has it on each replay."""

    async def agent(turn: Turn) -> None:
        login, _ = await turn.interrupt_all(
            [
                Question(reason="input_required", message="Who?", schema=Login),
                Question(reason="confirmation", message="Sure?"),
            ]
        )
        sealed.effects.append((login.value, login.text))
        await turn.interrupt("confirmation", "Done?")
        sealed.effects.append((login.value, login.text))

    client = sealed.client(agent)
    asked = (await client.say()).interrupts[0]["id"]
    login, texts = given()
    held = await post(sealed, f"/interrupts/{asked}/answer", answer(login))
    assert held.status == 202
    seen = [await kept(sealed.store, client.thread), await told(sealed, client, asked)]
    assert "(not shown)" in seen[1]
    again = await client.again().connect()
    run = await client.resume(answer(login), answer({"approved": True}))
    seen += [await kept(sealed.store, client.thread), await told(sealed, client, asked)]
    secrets = await sealed.store.secrets("default", client.thread)
    assert {json.loads(one.body) for one in secrets} == {*texts[:3], login["pin"]}
    last = await client.resume(answer({"approved": True}))
    assert last.outcome == "success"
    for value, text in sealed.effects:
        assert (value.user, value.password.get_secret_value()) == ("ann", texts[0])
        assert value.pin.reveal() == login["pin"]
        assert [code.reveal() for code in value.codes] == texts[1:3]
        seen += [repr(value), str(value), text, value.model_dump_json()]
    assert len(sealed.effects) == 3
    seen += [await kept(sealed.store, client.thread), await told(sealed, client, asked)]
    seen += [repr([one.events for one in (again, run, last)]), held.body.decode(), sealed.dump()]
    return Seen(texts, seen)


@pytest.mark.parametrize("kind", ENCRYPTED)
async def test_a_secret_reaches_the_agent_and_stands_nowhere_else(
    kind: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Held, settled, on each replay; in no thread, journal, row, stream, log and span."""
    caplog.set_level(logging.DEBUG)
    async with traced(kind, tmp_path) as (sealed, spans):
        seen = await said(sealed)
        assert spans.ended
    for text in seen.texts:
        assert not [one for one in (*seen.told, caplog.text, spans.text()) if text in one]


async def test_the_same_answer_again_is_the_same_and_another_one_is_not(sealed: Server) -> None:
    """Held and settled, also once its turn and the value are gone."""

    async def agent(turn: Turn) -> None:
        await turn.interrupt("input_required", "Who?", schema=Login)

    client = sealed.client(agent)
    asked = (await client.say()).interrupts[0]["id"]
    login, _ = given()
    other = {**login, "password": "another"}
    path = f"/interrupts/{asked}/answer"
    assert (await post(sealed, path, answer(login))).status == 200
    for _ in range(2):
        await at_rest(sealed, client)
        assert (await post(sealed, path, answer(login))).status == 200
        refused = await post(sealed, path, answer(other))
        assert (refused.status, refused.problem["code"]) == (409, "already_resolved")
        await client.again().say("once more")
        assert await sealed.store.secrets("default", client.thread) == ()


async def test_what_looks_like_a_place_is_a_value_like_any_other(sealed: Server) -> None:
    """Whoever knows an id gets no value for it: the schema says where values are."""
    schema = {
        "type": "object",
        "properties": {"code": {"writeOnly": True}, "note": {}},
        "required": ["code"],
    }

    async def agent(turn: Turn) -> None:
        sealed.effects.append((await turn.interrupt("input_required", "1", schema=schema)).value)
        sealed.effects.append((await turn.interrupt("input_required", "2", schema=schema)).value)

    client = sealed.client(agent)
    await client.say()
    await client.resume(answer({"code": "hunter2"}))
    (one,) = await sealed.store.secrets("default", client.thread)
    place = {"secret": one.id}
    await client.resume(answer({"code": place, "note": place}))
    assert sealed.effects[0] == sealed.effects[1] == {"code": "hunter2"}
    assert sealed.effects[2] == {"code": place, "note": place}


async def test_secrets_are_found_wherever_a_type_has_them(sealed: Server) -> None:
    """Behind references and branches, in maps and tuples, and deeper than anybody looks."""

    async def agent(turn: Turn) -> None:
        nest = await turn.interrupt("input_required", "Who?", schema=Nest)
        sealed.effects.append(nest.value)
        raise RuntimeError("after the answer")

    client = sealed.client(agent)
    await client.say()
    texts = [token_hex(12) for _ in range(4)]
    inmost: dict[str, Any] = {
        "pair": [1, texts[0]],
        "named": {"a": texts[1]},
        "maybe": texts[2:],
    }
    payload = inmost
    for _ in range(40):
        payload = {"inner": payload}
    given_to = {**payload, "pair": [1, texts[0]], "maybe": texts[2:], "named": {"a": texts[1]}}
    run = await client.resume(answer(given_to))
    assert run.outcome not in ("success", "invalid_answer"), run.last
    found = await kept(sealed.store, client.thread) + repr(run.events)
    assert not [text for text in texts if text in found]
    (nest,) = sealed.effects
    assert (nest.pair[1].reveal(), nest.maybe.reveal()) == (texts[0], texts[2:])
    while nest.inner is not None:
        nest = nest.inner
    assert (nest.pair[1].reveal(), nest.named["a"].reveal()) == (texts[0], texts[1])


MARKED = {"type": "string", "writeOnly": True}
LED_TO: dict[str, tuple[dict[str, Any], Any]] = {
    "an anchor": ({"$ref": "#code"}, "{}"),
    "dependentSchemas": ({"dependentSchemas": {"a": {"properties": {"b": MARKED}}}}, {"b": "{}"}),
    "if": ({"if": {"properties": {"b": MARKED}}}, {"b": "{}"}),
    "unevaluatedProperties": ({"unevaluatedProperties": MARKED}, {"b": "{}"}),
    "unevaluatedItems": ({"prefixItems": [{}], "unevaluatedItems": MARKED}, ["a", "{}"]),
    "contains": ({"contains": {"properties": {"b": MARKED}}}, [{"b": "{}"}]),
    "contentSchema": ({"contentSchema": {"properties": {"b": {"$ref": "#code"}}}}, '{"b": "{}"}'),
}
"""By the keyword that leads to a mark: a schema, and a value that it takes, with a secret."""


@pytest.mark.parametrize("keyword", LED_TO)
async def test_a_mark_counts_whatever_keyword_leads_to_it(keyword: str, tmp_path: Path) -> None:
    """As an answer to a question, and as an argument of a tool."""
    schema, value = LED_TO[keyword]
    texts = [token_hex(12) for _ in range(2)]
    payloads = [{"in": json.loads(json.dumps(value).replace("{}", text))} for text in texts]
    whole = {
        "type": "object",
        "properties": {"in": schema},
        "$defs": {"code": {"$anchor": "code", **MARKED}},
    }
    async with served("memory, encrypted", tmp_path) as server:

        async def use(arguments: dict[str, Any]) -> None:
            server.effects.append(arguments)

        tool = Tool.of("use", parameters=whole, call=use, approval=approval.always)
        server.app.add_tools(tool)

        async def agent(turn: Turn) -> None:
            answered = await turn.interrupt("input_required", "What?", schema=whole)
            server.effects.append(answered.value)
            await turn.call(tool, payloads[1])

        client = server.client(agent)
        asked = (await client.say()).interrupts[0]["id"]
        run = await client.resume(answer(payloads[0]))
        seen = [repr(run.events), await kept(server.store, client.thread)]
        seen += [await told(server, client, asked), server.dump()]
        await client.resume(answer({"approved": True}))
        seen += [await told(server, client, run.interrupts[0]["id"]), server.dump()]
    assert server.effects == [payloads[0], *payloads]
    assert not [text for text in texts for place in seen if text in place]


async def test_a_turn_that_is_tried_again_has_its_secrets(sealed: Server) -> None:
    """A failed turn continues from its journal with the answers that it took."""
    broken = [True]

    async def agent(turn: Turn) -> None:
        login = await turn.interrupt("input_required", "Who?", schema=Login)
        if broken:
            raise RuntimeError(broken.pop())
        sealed.effects.append(password_of(login))

    client = sealed.client(agent)
    asked = (await client.say()).interrupts[0]["id"]
    login, texts = given()
    await client.resume(answer(login))
    assert sealed.effects == []
    await post(sealed, f"/interrupts/{asked}/answer", answer(login))
    await at_rest(sealed, client)
    assert sealed.effects == [texts[0]]


async def test_an_answer_that_does_not_fit_is_told_without_its_secrets(sealed: Server) -> None:
    """It is judged as it came, and nothing of it is kept."""

    async def agent(turn: Turn) -> None:
        await turn.interrupt("input_required", "Who?", schema=Login)

    client = sealed.client(agent)
    asked = (await client.say()).interrupts[0]["id"]
    login, texts = given()
    wrong = await post(
        sealed, f"/interrupts/{asked}/answer", answer({**login, "pin": texts[0], "user": 1})
    )
    assert wrong.status == 422
    assert {one["pointer"] for one in wrong.problem["errors"]} == {"/payload/pin", "/payload/user"}
    assert not [text for text in texts if text in wrong.body.decode()]
    assert await sealed.store.secrets("default", client.thread) == ()


PEOPLE = {f"{who}-of-the-house-0123": Principal(subject=who) for who in ("ann", "lea", "leo")}


@pytest.mark.parametrize("kind", ENCRYPTED)
async def test_people_agree_to_a_secret_that_none_of_them_is_shown(
    kind: str, tmp_path: Path
) -> None:
    """Votes are compared without it: the same value counts, another drops those before."""
    async with served(kind, tmp_path, authenticate=auth.bearer(PEOPLE)) as server:
        both = Approvers(people=("lea", "leo"), approvals=2)

        async def agent(turn: Turn) -> None:
            asked = await turn.interrupt("input_required", "Who?", schema=Login, approvers=both)
            server.effects.append(password_of(asked))

        client = server.client(agent)
        client.headers["authorization"] = "Bearer ann-of-the-house-0123"
        asked = (await client.say()).interrupts[0]["id"]
        login, texts = given()

        async def says(who: str, payload: Any) -> Any:
            header = {"authorization": f"Bearer {who}-of-the-house-0123", **JSON}
            path = f"/interrupts/{asked}/answer"
            return await call(server.app, "POST", path, answer(payload), headers=header)

        assert (await says("lea", {**login, "password": "another"})).status == 202
        assert "lea" in (await says("leo", login)).body.decode()
        assert not [x for x in texts if x in await kept(server.store, client.thread)]
        assert (await says("lea", login)).status == 200
        await at_rest(server, client)
        assert server.effects == [texts[0]]


async def test_a_copy_of_a_thread_has_the_secrets_that_were_given_before(sealed: Server) -> None:
    """Under its own place; the agent has them there as well."""

    async def agent(turn: Turn) -> None:
        login = await turn.interrupt("input_required", "Who?", schema=Login)
        await turn.interrupt("confirmation", "Sure?")
        sealed.effects.append(password_of(login))

    client = sealed.client(agent)
    await client.say()
    login, texts = given()
    (sure,) = (await client.resume(answer(login))).interrupts
    made = await post(sealed, f"/threads/{client.thread}/fork", {"interruptId": sure["id"]})
    copy = client.again(thread=made.json["threadId"])
    await copy.connect()
    await copy.resume(answer({"approved": True}))
    assert sealed.effects == [texts[0]]


@pytest.mark.parametrize("older", [False, True])
async def test_an_answer_that_comes_again_beside_what_was_deleted_is_the_same(
    sealed: Server, older: bool
) -> None:
    """The thread's id was used before; a page sends messages of then, and the answer once more."""

    async def agent(turn: Turn) -> None:
        login = await turn.interrupt("input_required", "Who?", schema=Login)
        sealed.effects.append(password_of(login))

    client = client_of(sealed, agent, legacy=Legacy(answers=True))
    await client.say("before")
    assert (await delete(sealed, f"/threads/{client.thread}")).status == 204
    again = client.again()
    (asked,) = (await again.say("anew")).interrupts
    login, texts = given()
    await again.resume(answer(login))
    deleted = {"id": "old", "role": "assistant", "content": "of before"}
    messages = [deleted, *again.model.messages, {"id": "new", "role": "user", "content": "more"}]
    entry = {"interruptId": asked["id"], **answer(login)}
    told_again: dict[str, Any] = (
        {"forwardedProps": {"command": {"resume": login, "interruptId": asked["id"]}}}
        if older
        else {"resume": [entry]}
    )
    run = await again.open({**again.body(messages=messages), **told_again}).end()
    assert run.outcome == "interrupt", run.last
    assert "was deleted before" in repr(run.events[0])
    assert sealed.effects == [texts[0]]


async def test_an_answer_in_the_older_dialect_is_kept_apart_too(sealed: Server) -> None:
    """Nor does it stay among the properties that came with it."""

    async def agent(turn: Turn) -> None:
        login = await turn.interrupt("input_required", "Who?", schema=Login)
        await turn.interrupt("confirmation", "Sure?")
        sealed.effects.append(password_of(login))

    client = client_of(sealed, agent, legacy=Legacy(answers=True))
    await client.say()
    login, texts = given()
    await client.run(forwardedProps={"command": {"resume": login}})
    found = await kept(sealed.store, client.thread)
    assert not [text for text in texts if text in found]
    await client.resume(answer({"approved": True}))
    assert sealed.effects == [texts[0]]


async def test_a_message_answers_no_question_for_a_secret(sealed: Server) -> None:
    """It would stand in the history, where everybody of the thread reads it."""

    async def agent(turn: Turn) -> None:
        await turn.interrupt("input_required", "Code?", schema=SecretStr)

    client = client_of(sealed, agent, on_message="answer")
    await client.say()
    run = await client.say("123456")
    assert run.outcome == "interrupts_pending"
    assert "123456" not in await kept(sealed.store, client.thread)


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("write", ["update_idle", "claim", "commit"])
async def test_a_server_that_dies_at_a_write_loses_no_secret_and_shows_none(
    sealed: Server, write: Any, when: Any
) -> None:
    """While an answer is held, settled, or its turn goes on: another server has it."""

    async def agent(turn: Turn) -> None:
        login, _ = await turn.interrupt_all(
            [
                Question(reason="input_required", message="Who?", schema=Login),
                Question(reason="confirmation", message="Sure?"),
            ]
        )
        sealed.effects.append(password_of(login))

    client = sealed.client(agent)
    first, second = (one["id"] for one in (await client.say()).interrupts)
    login, texts = given()
    sealed.store.fail(write, when=when, hook=sealed.store.disconnect)
    given_to = [(first, answer(login)), (second, answer({"approved": True}))]
    for asked, entry in given_to:
        await post(sealed, f"/interrupts/{asked}/answer", entry)
    sealed.store.restore()
    other = sealed.another()
    other.agent(client.agent)(agent)
    async with other.lifespan():
        await taken_over(sealed, client)
        for asked, entry in given_to:
            assert (
                await post(sealed, f"/interrupts/{asked}/answer", entry, app=other)
            ).status < 300
        await taken_over(sealed, client)
        found = await kept(sealed.store, client.thread)
    assert {*sealed.effects} == {texts[0]}
    assert not [text for text in texts if text in found]


async def test_without_a_codec_a_secret_type_is_refused_and_what_is_marked_is_as_it_was(
    server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    """`Secret` says where keys come from; a schema's mark only hides."""

    async def secret(turn: Turn) -> None:
        await turn.interrupt("input_required", "Who?", schema=Login)

    async def marked(turn: Turn) -> None:
        code = await turn.interrupt("input_required", "Code?", schema=SecretStr)
        assert code.value is not None
        server.effects.append(code.value.get_secret_value())

    run = await server.client(secret).say()
    assert "DeclarationError" in run.last["message"]
    assert "AesGcm.from_file" in caplog.text and "sayso key new" in caplog.text
    client = server.client(marked)
    await client.say()
    await client.resume(answer("123456"))
    assert server.effects == ["123456"]
