"""Under a codec the secrets of a tool's arguments are kept apart, and reach the tool alone."""

import json
import logging
from collections.abc import AsyncIterator
from pathlib import Path
from secrets import token_hex
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field, SecretBytes, SecretStr

from sayso import DeclarationError, Principal, Secret, Tool, Turn, approval, auth
from tests.contract.rest import JSON, at_rest, call, get, post
from tests.contract.server import Client, Server, answer, approve, deny, served, taken_over
from tests.contract.test_kept_secrets import kept, told
from tests.contract.test_tracing import traced
from tests.stores.backends import ENCRYPTED

ANN = {"user": "ann", "password": "hunter2"}


class Key(BaseModel):
    """A secret inside an argument."""

    owner: str
    token: SecretStr
    bytes: SecretBytes = SecretBytes(b"none")


class SignIn:
    """A tool with secrets wherever an argument has them, and the texts that nobody may see."""

    def __init__(self, server: Server, **options: Any) -> None:
        self.texts = [token_hex(12) for _ in range(5)]
        self.seen: list[Any] = []
        first, token, raw, *codes = self.texts
        self.arguments: dict[str, Any] = {
            "user": "ann",
            "password": first,
            "key": Key(owner="lea", token=SecretStr(token), bytes=SecretBytes(raw.encode())),
            "codes": {"a": [Secret(code) for code in codes]},
        }

        async def sign_in(
            user: str, password: Secret[str], key: Key, codes: dict[str, list[Secret[str]]]
        ) -> str:
            """Sign in."""
            self.seen += [repr(password), f"{key}", str(codes)]
            server.effects.append(
                [
                    user,
                    password.reveal(),
                    key.token.get_secret_value(),
                    key.bytes.get_secret_value().decode(),
                    *(code.reveal() for code in codes["a"]),
                ]
            )
            return "signed in"

        self.tool: Any = server.app.tool(**{"approval": approval.always, **options})(sign_in)


@pytest.fixture(params=ENCRYPTED)
async def sealed(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Server]:
    async with served(request.param, tmp_path) as server:
        yield server


def login(server: Server, **options: Any) -> Tool[..., Any]:
    """A gated tool that writes down whom it has let in, and with what."""

    async def let_in(user: str, password: Secret[str]) -> str:
        """Let somebody in."""
        server.effects.append((user, password.reveal()))
        return f"{user} is in"

    return server.app.tool(**{"approval": approval.always, **options})(let_in)


def calling(tool: Tool[..., Any], arguments: dict[str, Any]) -> Any:
    """An agent that makes one call."""

    async def agent(turn: Turn) -> None:
        await turn.call(tool, arguments)

    return agent


def stands_in(texts: list[str], places: list[str]) -> list[str]:
    """The texts that stand in any of the places."""
    return [text for text in texts for place in places if text in place]


@pytest.mark.parametrize("kind", ENCRYPTED)
@pytest.mark.parametrize("gated", [True, False])
async def test_a_secret_argument_reaches_the_tool_and_stands_nowhere_else(
    kind: str, gated: bool, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Waiting, approved, run; in no thread, journal, row, stream, log and span."""
    caplog.set_level(logging.DEBUG)
    async with traced(kind, tmp_path) as (server, spans):
        made = SignIn(server, approval=approval.always if gated else approval.never, editable=gated)

        async def agent(turn: Turn) -> None:
            outcome = await turn.call(made.tool, made.arguments)
            made.seen += [repr(outcome)]
            await turn.interrupt("confirmation", "Done?")

        client = server.client(agent)
        run = await client.say()
        seen = [repr(run.events)]
        if gated:
            asked = run.interrupts[0]
            shown = asked["metadata"]["sayso"]["arguments"]
            assert shown["user"] == "ann"
            assert shown["password"].keys() == {"secret"}
            assert "(not shown)" in asked["message"]
            seen += [await kept(server.store, client.thread), server.dump()]
            seen += [await told(server, client, asked["id"])]
            context = await get(server, f"/interrupts/{asked['id']}/context")
            run = await client.resume(approve())
            seen += [repr(run.events), repr(context)]
        (done,) = run.interrupts
        seen += [await kept(server.store, client.thread), server.dump()]
        seen += [await told(server, client, done["id"])]
        values = await server.store.secrets("default", client.thread)
        assert {json.loads(one.body) for one in values} == {*made.texts}
        last = await client.resume(answer({"approved": True}))
        assert last.outcome == "success", last.last
        seen += [repr(last.events), *made.seen, repr((await client.again().connect()).events)]
        seen += [repr(await get(server, f"/threads/{client.thread}/history"))]
        seen += [caplog.text, spans.text()]
        assert spans.ended
        await client.again().say("once more")
    assert server.effects[0] == ["ann", *made.texts]
    assert not stands_in(made.texts, seen)


async def test_the_values_go_with_their_turn(sealed: Server) -> None:
    tool = login(sealed, approval=approval.never)
    again: list[str] = []

    async def agent(turn: Turn) -> None:
        if not again:
            await turn.call(tool, ANN)

    client = sealed.client(agent)
    await client.say()
    (one,) = await sealed.store.secrets("default", client.thread)
    assert json.loads(one.body) == "hunter2"
    again.append("x")
    await client.say("more")
    assert await sealed.store.secrets("default", client.thread) == ()


async def test_whoever_edits_other_arguments_leaves_the_secret_as_it_is(sealed: Server) -> None:
    """As the card has it, as a form says it, and with another secret in its place."""
    tool = login(sealed, editable=True)
    client = sealed.client(calling(tool, ANN))
    for password in (None, "(not shown)", "correct horse"):
        asked = (await client.say()).interrupts[0]
        before = asked["metadata"]["sayso"]["arguments"]
        edited = {"user": "lea", "password": password or before["password"]}
        run = await client.resume(approve(editedArgs=edited))
        assert run.outcome == "success", run.last
        seen = [await kept(sealed.store, client.thread), await told(sealed, client, asked["id"])]
        assert not stands_in(["hunter2", "correct horse"], [*seen, repr(run.events), sealed.dump()])
    assert sealed.effects == [("lea", "hunter2"), ("lea", "hunter2"), ("lea", "correct horse")]


async def test_an_id_from_elsewhere_is_no_secret(sealed: Server) -> None:
    """Who knows the id of a value gets it into no other call, be it a reviewer or a model."""
    tool = login(sealed, editable=True)
    client = sealed.client(calling(tool, ANN))
    asked = (await client.say()).interrupts[0]
    await client.resume(approve())
    place = asked["metadata"]["sayso"]["arguments"]["password"]
    other = sealed.client(calling(tool, {**ANN, "password": "correct horse"}))
    await other.say()
    refused = await other.resume(approve(editedArgs={"user": "ann", "password": place}))
    assert refused.last["code"] == "invalid_payload", refused.last
    wrong = sealed.client(calling(tool, {**ANN, "password": place}))
    assert (await wrong.say()).outcome not in ("interrupt", "success")
    assert sealed.effects == [("ann", "hunter2")]


async def test_in_a_list_the_place_of_a_secret_has_to_be_told(sealed: Server) -> None:
    """Who takes the first item out would otherwise give its secret to the second."""

    @sealed.app.tool(approval=approval.always, editable=True)
    async def add(keys: list[Key]) -> None:
        """Add keys."""
        sealed.effects.extend((key.owner, key.token.get_secret_value()) for key in keys)

    keys = [{"owner": "ann", "token": "first"}, {"owner": "lea", "token": "second"}]
    client = sealed.client(calling(add, {"keys": keys}))
    asked = (await client.say()).interrupts[0]
    left = asked["metadata"]["sayso"]["arguments"]["keys"][1]
    vague = {**left, "token": "(not shown)"}
    refused = await post(
        sealed, f"/interrupts/{asked['id']}/answer", approve(editedArgs={"keys": [vague]})
    )
    (fault,) = refused.problem["errors"]
    assert fault["pointer"] == "/payload/editedArgs/keys/0/token"
    run = await client.resume(approve(editedArgs={"keys": [left]}))
    assert run.outcome == "success", run.last
    assert sealed.effects == [("lea", "second")]


async def test_arguments_beside_a_no_are_told_without_their_secrets(sealed: Server) -> None:
    """The agent has what was suggested, and its model a text."""
    tool = login(sealed, editable=True)
    seen: list[Any] = []

    async def agent(turn: Turn) -> None:
        seen.append(await turn.call(tool, ANN))

    client = sealed.client(agent)
    await client.say()
    beside = deny("use another")
    beside["payload"]["editedArgs"] = {"user": "ann", "password": "correct horse"}
    run = await client.resume(beside)
    (outcome,) = seen
    assert outcome.denied and outcome.suggested["password"].keys() == {"secret"}
    assert not stands_in(["hunter2", "correct horse"], [repr(outcome), repr(run.events)])


async def test_a_yes_for_such_calls_stands_for_the_same_secret_alone(sealed: Server) -> None:
    """What is not to be asked again is compared by ids, and has no pattern over a secret."""
    tool = login(sealed, approval=approval.always(remember=approval.Remember()))

    async def agent(turn: Turn) -> None:
        await turn.call(tool, {"user": "ann", "password": turn.input.text})

    client = sealed.client(agent)
    asked = (await client.say("hunter2")).interrupts[0]["id"]
    like = {"arguments": {"password": "hunter*", "user": "*"}}
    refused = await post(sealed, f"/interrupts/{asked}/answer", approve(remember=like))
    (fault,) = refused.problem["errors"]
    assert fault["pointer"] == "/payload/remember/arguments/password"
    assert "is secret, so no pattern" in fault["message"]
    await client.resume(approve(remember={"arguments": "same"}))
    assert (await client.say("hunter2")).outcome == "success"
    assert [who for who, _ in sealed.effects] == ["ann", "ann"]
    assert (await client.say("correct horse")).outcome == "interrupt"
    listed = await get(sealed, "/approvals")
    assert listed["items"][0]["arguments"]["password"].keys() == {"secret"}
    assert not stands_in(["hunter2"], [repr(listed)])


PEOPLE = {f"{who}-of-the-house-0123": Principal(subject=who) for who in ("ann", "lea", "leo")}


@pytest.mark.parametrize("kind", ENCRYPTED)
async def test_several_agree_to_a_call_whose_secret_none_of_them_is_shown(
    kind: str, tmp_path: Path
) -> None:
    """An edit of theirs counts as the same if it has the same secret, and is held without it."""
    async with served(kind, tmp_path, authenticate=auth.bearer(PEOPLE)) as server:
        asks = approval.always(approvers=approval.Approvers(people=("lea", "leo"), approvals=2))
        tool = login(server, editable=True, approval=asks)
        client = server.client(calling(tool, ANN))
        client.headers["authorization"] = "Bearer ann-of-the-house-0123"
        asked = (await client.say()).interrupts[0]["id"]

        async def says(who: str, password: str) -> Any:
            header = {"authorization": f"Bearer {who}-of-the-house-0123", **JSON}
            entry = approve(editedArgs={"user": "ann", "password": password})
            path = f"/interrupts/{asked}/answer"
            return await call(server.app, "POST", path, entry, headers=header)

        assert (await says("lea", "another")).status == 202
        assert "lea" in (await says("leo", "correct horse")).body.decode()
        seen = [await kept(server.store, client.thread), server.dump()]
        assert not stands_in(["another", "correct horse", "hunter2"], seen)
        assert (await says("lea", "correct horse")).status == 200
        await at_rest(server, client)
        assert server.effects == [("ann", "correct horse")]


async def test_a_copy_of_a_thread_has_the_secrets_of_its_calls(sealed: Server) -> None:
    """One that waits, with what a person had typed for the call before it."""
    tool = login(sealed, editable=True)

    async def agent(turn: Turn) -> None:
        await turn.call(tool, ANN)
        await turn.call(tool, {"user": "lea", "password": "hunter3"})

    client = sealed.client(agent)
    await client.say()
    first = approve(editedArgs={"user": "ann", "password": "correct horse"})
    (second,) = (await client.resume(first)).interrupts
    made = await post(sealed, f"/threads/{client.thread}/fork", {"interruptId": second["id"]})
    copy = client.again(thread=made.json["threadId"])
    values = await sealed.store.secrets("default", copy.thread)
    assert {json.loads(one.body) for one in values} == {"hunter2", "hunter3", "correct horse"}
    await copy.connect()
    edited = {"user": "leo", "password": "(not shown)"}
    run = await copy.resume(approve(editedArgs=edited))
    assert run.outcome == "success", run.last
    assert sealed.effects == [("ann", "correct horse"), ("leo", "hunter3")]


@pytest.mark.parametrize("n", [1, 2])
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("write", ["claim", "commit"])
async def test_a_server_that_dies_at_a_write_loses_no_secret_argument_and_shows_none(
    sealed: Server, write: Any, when: Any, n: int
) -> None:
    """Another server makes the call with what a person has typed, and nobody makes it twice."""
    tool = login(sealed, editable=True)
    client = sealed.client(calling(tool, ANN))
    asked = (await client.say()).interrupts[0]["id"]
    entry = approve(editedArgs={"user": "ann", "password": "correct horse"})
    sealed.store.fail(write, when=when, n=n, hook=sealed.store.disconnect)
    await client.resume(entry)
    sealed.store.restore()
    other = sealed.another()
    other.add_tools(tool)
    other.agent(client.agent)(calling(tool, ANN))
    async with other.lifespan():
        await taken_over(sealed, client)
        path = f"/interrupts/{asked}/answer"
        assert (await post(sealed, path, entry, app=other)).status < 300
        await taken_over(sealed, client)
        seen = [await kept(sealed.store, client.thread), sealed.dump()]
        if not sealed.effects:  # nobody knows if it happened
            (unclear,) = (await client.again(app=other).connect()).interrupts
            again = answer({"action": "run_again"})
            await post(sealed, f"/interrupts/{unclear['id']}/answer", again, app=other)
            await taken_over(sealed, client)
        seen += [await kept(sealed.store, client.thread), sealed.dump()]
    assert sealed.effects == [("ann", "correct horse")]
    assert not stands_in(["hunter2", "correct horse"], seen)


async def test_a_person_completes_a_call_that_has_a_secret(sealed: Server) -> None:
    """Beside a secret that is given, or with one; another process judges the answer as well."""
    tool = login(sealed, approval=approval.never, complete=True)
    other = sealed.another()
    other.add_tools(tool)
    async with other.lifespan():
        for lacking in ANN:
            agent = calling(tool, {name: text for name, text in ANN.items() if name != lacking})
            client = sealed.client(agent)
            asked = (await client.say()).interrupts[0]
            other.agent(client.agent)(agent)
            path, entry = f"/interrupts/{asked['id']}/answer", answer({lacking: ANN[lacking]})
            assert (await post(sealed, path, entry, app=other)).status == 200
            await at_rest(sealed, client)
            seen = [await kept(sealed.store, client.thread), repr(asked), sealed.dump()]
            assert not stands_in(["hunter2"], seen)
        assert sealed.effects == [("ann", "hunter2")] * 2


async def test_a_rule_decides_on_the_value_and_a_text_never_has_it(sealed: Server) -> None:
    """Code of the author has it; what the code says is the author's own."""
    weak = approval.when(lambda password: len(password.reveal()) < 8)
    tool = login(sealed, approval=weak, title="Let {user} in with {password}")
    client = sealed.client(calling(tool, ANN))
    asked = (await client.say()).interrupts[0]
    assert asked["metadata"]["sayso"]["title"] == "Let ann in with (not shown)"
    strong = sealed.client(calling(tool, {**ANN, "password": "correct horse"}))
    assert (await strong.say()).outcome == "success"


async def test_a_tool_of_a_json_schema_has_its_marked_values_apart_too(sealed: Server) -> None:
    properties = {"user": {"type": "string"}, "pin": {"type": "integer", "writeOnly": True}}
    parameters = {"type": "object", "properties": properties, "required": ["pin"]}

    async def let_in(arguments: dict[str, Any]) -> None:
        sealed.effects.append(arguments)

    tool = Tool.of("let_in", parameters=parameters, call=let_in, approval=approval.always)
    sealed.app.add_tools(tool)
    client = sealed.client(calling(tool, {"user": "ann", "pin": 271828182}))
    await client.say()
    await client.resume(approve())
    assert sealed.effects == [{"user": "ann", "pin": 271828182}]
    assert not stands_in(["271828182"], [await kept(sealed.store, client.thread), sealed.dump()])


REVEALERS = {
    "ann-of-the-house-0123": Principal(subject="ann"),
    "lea-of-the-house-0123": Principal(subject="lea", roles=("lead",)),
    "leo-of-the-house-0123": Principal(subject="leo"),
    "tom-of-the-house-0123": Principal(subject="tom", scope="elsewhere", roles=("lead",)),
    "bot-of-the-house-0123": Principal(subject="bot", roles=("lead",), kind="service"),
}


@pytest.mark.parametrize("kind", ENCRYPTED)
async def test_whoever_may_answer_now_is_shown_a_secret_and_the_trail_says_so(
    kind: str,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Not the owner that may not answer, nor strangers; not once it is settled."""
    caplog.set_level(logging.DEBUG)
    async with served(kind, tmp_path, authenticate=auth.bearer(REVEALERS)) as server:
        tool = login(server, reveal=True, approval=approval.always(by="lead"))
        client = server.client(calling(tool, ANN))
        client.headers["authorization"] = "Bearer ann-of-the-house-0123"
        asked = (await client.say()).interrupts[0]
        assert asked["metadata"]["sayso"]["reveal"] == ["/password"]
        path = f"/interrupts/{asked['id']}"

        async def shown(who: str, pointer: str = "/password", of: str = path) -> Any:
            header = {"authorization": f"Bearer {who}-of-the-house-0123", **JSON}
            return await call(
                server.app, "POST", f"{of}/reveal", {"pointer": pointer}, headers=header
            )

        async def rows() -> list[dict[str, Any]]:
            trail = (await server.store.audit("default", thread_id=client.thread)).items
            return [json.loads(row.content or b"{}") for row in trail if row.kind == "revealed"]

        for who, status, code in (
            ("ann", 403, "not_an_approver"),
            ("bot", 403, "person_required"),
            ("leo", 404, "unknown_interrupt"),
            ("tom", 404, "unknown_interrupt"),
        ):
            refused = await shown(who)
            assert (refused.status, refused.problem["code"]) == (status, code), who
        for pointer in ("/user", "", "/password/secret", "password", "/nothing"):
            refused = await shown("lea", pointer)
            assert (refused.status, refused.problem["code"]) == (422, "invalid_input"), pointer
        assert await rows() == []
        for times in (1, 2):
            run = await shown("lea")
            assert (run.status, run.json) == (200, {"value": "hunter2"})
            assert run.headers["cache-control"] == "no-store"
            assert [row["pointer"] for row in await rows()] == ["/password"] * times
        (row, _) = await rows()
        assert (row["channel"], row["interruptId"]) == ("inbox", asked["id"])
        with monkeypatch.context() as capped:
            capped.setattr("sayso.turns.journal.journal.MAX_REVEALED", 2)
            refused = await shown("lea")
            assert (refused.status, refused.problem["code"]) == (429, "too_many")
        server.store.fail("update_idle")
        assert (await shown("lea")).status == 503
        header = {"authorization": "Bearer lea-of-the-house-0123", **JSON}
        assert (
            await call(server.app, "POST", f"{path}/answer", approve(), headers=header)
        ).status == 200
        await at_rest(server, client)
        over = await shown("lea")
        assert (over.status, over.problem["code"]) == (409, "already_resolved")
        seen = [await kept(server.store, client.thread), server.dump(), caplog.text]
        assert not stands_in(["hunter2"], seen)


async def test_no_secret_is_shown_of_what_has_expired_or_is_not_to_be_shown(
    sealed: Server,
) -> None:
    shows = login(sealed, reveal=True, expires_in=60, on_expire="hold")
    client = sealed.client(calling(shows, ANN))
    asked = (await client.say()).interrupts[0]["id"]
    path = f"/interrupts/{asked}/reveal"
    assert (await post(sealed, path, {"pointer": "/password"})).json == {"value": "hunter2"}
    await sealed.clock.advance(61)
    late = await post(sealed, path, {"pointer": "/password"})
    assert (late.status, late.problem["code"]) == (410, "interrupt_expired")

    @sealed.app.tool(approval=approval.always)
    async def hides(password: Secret[str]) -> None:
        """Nothing of it is shown."""

    other = sealed.client(calling(hides, {"password": "hunter2"}))
    asked = (await other.say()).interrupts[0]
    assert "reveal" not in asked["metadata"]["sayso"]
    path = f"/interrupts/{asked['id']}/reveal"
    assert (await post(sealed, path, {"pointer": "/password"})).status == 422


async def test_without_a_codec_a_tool_with_a_secret_type_is_refused(
    server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    """As its app starts, and where a run brings one along."""

    async def let_in(pin: Secret[int]) -> None:
        """Nothing is run here."""

    async def agent(turn: Turn) -> None:
        tool = Tool(let_in)
        turn.add_tools(tool)
        await turn.call(tool, {"pin": 1})

    client: Client = server.client(agent)
    run = await client.say()
    assert "DeclarationError" in run.last["message"]
    assert "takes a Secret at '/pin'" in caplog.text and "AesGcm.from_file" in caplog.text
    other = server.another()
    other.tool()(let_in)
    with pytest.raises(DeclarationError, match=r"AesGcm\.from_file"):
        async with other.lifespan():
            """It does not start."""


async def test_a_secret_that_does_not_fit_is_in_no_log(
    sealed: Server, caplog: pytest.LogCaptureFixture
) -> None:
    """What an error says of arguments has no value of them."""

    @sealed.app.tool(approval=approval.never)
    async def sign_in(
        password: Secret[Annotated[str, Field(min_length=9)]],
        token: Annotated[SecretStr, Field(min_length=99)],
    ) -> None:
        """Sign in."""

    wrong = {"password": "hunter2", "token": "t0ps3cret"}
    run = await sealed.client(calling(sign_in, wrong)).say()
    assert run.outcome == "agent_error"
    assert "password" in caplog.text
    assert not stands_in(["hunter2", "t0ps3cret"], [caplog.text, sealed.dump(), str(run.events)])
