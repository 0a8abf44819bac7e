"""`turn.chat` over every kind of client: real HTTP to a provider on loopback."""

import logging
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from sayso import DeclarationError, ModelFailed, Sayso, Secret, Tool, Turn, approval
from sayso.providers import Completions, ModelRequest, Reply, RequestedCall, Speaks
from sayso.testing import Conversation, FakeCall, FakeProvider, FakeReply, FakeRequest
from tests.models.shop import (
    CLIENTS,
    KEY,
    calls_sent,
    declared,
    every_client,
    results_sent,
    shop,
    talk,
)
from tests.stores.backends import codec

REFUND = {"order_id": "A-17", "amount": 240.0}
OTHER = {"order_id": "A-18", "amount": 20.0}
STATUS = {"order_id": "A-17"}
AGAIN = {"retry-after": "0", "retry-after-ms": "0"}


def clerk(request: FakeRequest) -> FakeReply:
    """A model that looks before it refunds twice, and then tells what it heard."""
    if request.results:
        return FakeReply("Done: " + " | ".join(request.results), thought="That is all.")
    if "refund" not in request.text:
        users = sum(message["role"] == "user" for message in request.body["messages"])
        return FakeReply(f"Hello, this is message {users}.")
    calls = [
        FakeCall("issue_refund", REFUND),
        FakeCall("order_status", STATUS),
        FakeCall("issue_refund", OTHER),
    ]
    return FakeReply("Let me see. ", calls, thought="A refund, then.", piece=3)


@every_client
def test_words_stream_and_the_second_turn_knows_the_first(client: str) -> None:
    with shop(client, clerk) as made, talk(made) as agent:
        run = agent.say("hello")
        assert (run.outcome, run.result) == ("success", "Hello, this is message 1.")
        assert len(run.of("TEXT_MESSAGE_CONTENT")) > 2
        assert agent.say("hello again").text == "Hello, this is message 2."
        assert "Hello, this is message 1." in str(made.sent)


@every_client
def test_calls_of_one_reply_are_one_batch_that_outlives_a_restart(client: str) -> None:
    """Free ones run before the pause; edits, denials and results are heard word for word."""
    with shop(client, clerk) as made, talk(made) as agent:
        run = agent.say("refund A-17 and A-18")
        assert (run.outcome, made.effects) == ("interrupt", ["status A-17"])
        assert "".join(e["delta"] for e in run.of("REASONING_MESSAGE_CONTENT")) == "A refund, then."
        assert [question.args for question in agent.questions] == [REFUND, OTHER]
        agent.restart()
        first, second = agent.questions
        first.edit(amount=20.0)
        run = second.deny("not this one")
        assert (run.outcome, made.effects) == ("success", ["status A-17", "refund A-17 20"])
        assert len(made.provider.requests) == 2
        heard = list(results_sent(made.sent).values())
        assert [
            word in text
            for word, text in zip(
                ("refunded 20 for A-17", "A-17 is paid", "not this one"), heard, strict=True
            )
        ] == [True, True, True]
        (usage,) = run.events[-1]["usage"]
        assert (usage["model"], usage["inputTokens"], usage["outputTokens"]) == ("fake-1", 10, 5)


@every_client
def test_the_next_turn_has_each_call_with_its_result_behind_it(client: str) -> None:
    with shop(client, clerk) as made, talk(made) as agent:
        agent.say("refund A-17 and A-18")
        for question in agent.questions:
            question.approve()
        agent.say("hello")
        assert len(calls_sent(made.sent)) == 3
        assert list(results_sent(made.sent)) == calls_sent(made.sent)
        roles = [message["role"] for message in made.sent]
        before = roles.index("assistant")
        assert roles[before + 1] in ("tool", "user")


@every_client
def test_a_secret_that_a_model_writes_is_recorded_and_sent_back_as_its_id(client: str) -> None:
    """The tool has it; no later request of the turn, or of the next, has it again."""

    def plan(request: FakeRequest) -> FakeReply:
        if request.results:
            return FakeReply("Done: " + " | ".join(request.results))
        if "sign" not in request.text:
            return FakeReply("Hello.")
        wrong = FakeCall("sign_in", '{"password": "hunter2', "broken")
        return FakeReply(calls=[FakeCall("sign_in", {"password": "hunter2"}), wrong])

    signed: list[str] = []
    with FakeProvider(plan) as provider:
        app = Sayso(store="memory:", codec=codec())

        @app.tool(approval=approval.always)
        async def sign_in(password: Secret[str]) -> str:
            """Sign in."""
            signed.append(password.reveal())
            return "signed in"

        @app.agent("clerk")
        async def clerk(turn: Turn) -> None:
            await turn.chat(CLIENTS[client](provider), model="fake-1", tools=[sign_in])

        with Conversation(app, "clerk") as agent:
            agent.say("sign me in")
            agent.questions[0].approve()
            agent.say("thanks")
            messages = str(agent.messages)
        assert signed == ["hunter2"]
        sent = str([request.body for request in provider.requests])
        assert "secret" in sent
        assert "hunter2" not in sent + messages


@every_client
@pytest.mark.parametrize(
    ("name", "arguments"), [("sign_inn", "password"), ("sign_in", "pasword")], ids=["tool", "name"]
)
def test_a_secret_under_a_misspelt_name_is_neither_recorded_nor_sent_back(
    client: str, name: str, arguments: str
) -> None:
    """Of the tool, or of the argument; the model hears that there is none, and calls another."""

    def plan(request: FakeRequest) -> FakeReply:
        if not request.results:
            return FakeReply(calls=[FakeCall(name, {arguments: "hunter2"})])
        if "signed in" in str(request.results):
            return FakeReply("Done.")
        return FakeReply(calls=[FakeCall("sign_in", {"password": "hunter2"})])

    with FakeProvider(plan) as provider:
        app = Sayso(store="memory:", codec=codec())

        @app.tool(approval=approval.never)
        async def sign_in(password: Secret[str]) -> str:
            """Sign in."""
            return f"signed in with {len(password.reveal())} characters"

        @app.agent("clerk")
        async def clerk(turn: Turn) -> None:
            text = await turn.chat(CLIENTS[client](provider), model="fake-1", tools=[sign_in])
            await turn.interrupt("confirmation", text)

        with Conversation(app, "clerk") as agent:
            assert agent.say("sign me in").outcome == "interrupt"
            agent.restart()
            agent.questions[0].approve()
            messages = str(agent.messages)
        sent = str([request.body for request in provider.requests])
        assert len(provider.requests) == 3
        assert "Not called" in sent
        assert "signed in with 7 characters" in sent
        assert "hunter2" not in sent + messages


@every_client
def test_an_argument_that_fits_a_pattern_is_passed_on_as_it_was_written(client: str) -> None:
    """Its name is none of the listed ones, and yet not misspelt."""
    text = {"type": "string"}
    parameters = {
        "type": "object",
        "properties": {"password": {"type": "string", "writeOnly": True}},
        "patternProperties": {"^x-": text, r"^[a-z]{2}_\d$": text},
        "additionalProperties": False,
    }
    calls: list[dict[str, Any]] = []

    async def use(arguments: dict[str, Any]) -> str:
        calls.append(arguments)
        return "sent"

    def plan(request: FakeRequest) -> FakeReply:
        if request.results:
            return FakeReply("Done.")
        return FakeReply(calls=[FakeCall("send", right), FakeCall("send", {**right, "y-to": "b"})])

    right = {"password": "hunter2", "x-to": "ann", "to_1": "bob"}
    with FakeProvider(plan) as provider:
        app = Sayso(store="memory:", codec=codec())
        send = Tool.of("send", parameters=parameters, call=use, approval=approval.never)
        app.add_tools(send)

        @app.agent("clerk")
        async def clerk(turn: Turn) -> None:
            await turn.chat(CLIENTS[client](provider), model="fake-1", tools=[send])

        with Conversation(app, "clerk") as agent:
            agent.say("send it")
    assert calls == [right]


@every_client
def test_a_secret_of_a_free_call_outlives_a_restart_behind_another_call(client: str) -> None:
    """What the model replied is read back whole, though no card and no question has the id."""

    def plan(request: FakeRequest) -> FakeReply:
        if len(request.results) > 1:
            return FakeReply("Done.")
        if request.results:
            return FakeReply(calls=[FakeCall("pay", {"amount": 5})])
        return FakeReply(calls=[FakeCall("sign_in", {"password": "hunter2"})])

    done: list[str] = []
    with FakeProvider(plan) as provider:
        app = Sayso(store="memory:", codec=codec())

        @app.tool(approval=approval.never)
        async def sign_in(password: Secret[str]) -> str:
            """Sign in."""
            done.append(password.reveal())
            return "signed in"

        @app.tool(approval=approval.always)
        async def pay(amount: int) -> str:
            """Pay."""
            done.append(f"paid {amount}")
            return "paid"

        @app.agent("clerk")
        async def clerk(turn: Turn) -> None:
            await turn.chat(CLIENTS[client](provider), model="fake-1", tools=[sign_in, pay])

        with Conversation(app, "clerk") as agent:
            agent.say("pay")
            agent.restart()
            agent.questions[0].approve()
            assert agent.messages[-1]["content"] == "Done."
    assert done == ["hunter2", "paid 5"]
    assert "hunter2" not in str([request.body for request in provider.requests])


@every_client
def test_text_and_the_calls_behind_it_are_one_message(client: str) -> None:
    """Clients that fold a run into messages look at the last one for their cards."""
    with shop(client, clerk) as made, talk(made) as agent:
        agent.say("refund A-17 and A-18")
        (message,) = [m for m in agent.messages if m["role"] == "assistant"]
        assert message["content"] == "Let me see. "
        assert len(message["toolCalls"]) == 3


@every_client
def test_what_cannot_be_called_is_told_and_costs_the_others_nothing(client: str) -> None:
    def wild(request: FakeRequest) -> FakeReply:
        if request.results:
            return FakeReply("I see.")
        return FakeReply(
            calls=[
                FakeCall("issue_refund", '{"order_id": "A-1", "amou', "broken"),
                FakeCall("order_status", STATUS, "fine"),
                FakeCall("write_off", {}, "invented"),
                FakeCall("issue_refund", {"order_id": 7}, "misfit"),
                FakeCall("order_status", "[]", "list"),
            ]
        )

    with shop(client, wild) as made, talk(made) as agent:
        assert agent.say("go").outcome == "success"
        assert made.effects == ["status A-17"]
        heard = results_sent(made.sent)
        assert list(heard) == ["broken", "fine", "invented", "misfit", "list"]
        assert heard["fine"] == "A-17 is paid"
        assert "no JSON object" in heard["broken"]
        assert "amou" in heard["broken"]
        assert "no tool 'write_off'" in heard["invented"]
        assert "/amount: Field required" in heard["misfit"]
        assert "no JSON object" in heard["list"]


@every_client
def test_ids_that_a_model_uses_again_or_leaves_empty_are_made_distinct(client: str) -> None:
    def forgetful(request: FakeRequest) -> FakeReply:
        if len(request.results) >= 5:
            return FakeReply("Enough.")
        names = ["", "same", "same"] if not request.results else ["same", ""]
        return FakeReply(calls=[FakeCall("order_status", STATUS, name) for name in names])

    with shop(client, forgetful) as made, talk(made) as agent:
        assert agent.say("go").text == "Enough."
        ids = calls_sent(made.sent)
        assert len(set(ids)) == 5
        assert "" not in ids
        assert list(results_sent(made.sent)) == ids


@every_client
def test_a_model_that_only_calls_is_asked_to_answer_and_then_stopped(client: str) -> None:
    with shop(client, [FakeReply(calls=[FakeCall("order_status", STATUS)])]) as made:
        made.chat["rounds"] = 2
        with talk(made) as agent:
            run = agent.say("go")
            assert run.text == run.result == "I stop here: this takes too many rounds."
        assert made.effects == ["status A-17"] * 2
        assert len(made.provider.requests) == 3
        body = made.provider.requests[-1].body
        assert "tools" not in body or body["tool_choice"] == {"type": "none"}
        assert "No further tool calls" in str(body["messages"][-1])


@every_client
def test_a_model_that_is_out_of_rounds_may_still_answer(client: str) -> None:
    def obedient(request: FakeRequest) -> FakeReply:
        if "No further tool calls" in str(request.body["messages"][-1]):
            return FakeReply("That is what I know.")
        return FakeReply(calls=[FakeCall("order_status", STATUS)])

    with shop(client, obedient) as made:
        made.chat["rounds"] = 1
        with talk(made) as agent:
            assert agent.say("go").result == "That is what I know."


PAGE = [{"name": "pick_date", "description": "Ask for a day.", "parameters": {"type": "object"}}]


@every_client
def test_calls_of_the_page_s_tools_are_left_to_it_beside_the_rest(client: str) -> None:
    """One outcome has the card and the call; a resume with both goes on once."""

    def plan(request: FakeRequest) -> FakeReply:
        if request.results:
            return FakeReply("Heard: " + " | ".join(request.results))
        calls = [FakeCall("pick_date", {"from": "May"}), FakeCall("issue_refund", REFUND)]
        return FakeReply(calls=[*calls, FakeCall("order_status", STATUS)])

    with shop(client, plan) as made, talk(made) as agent:
        run = agent.say("go", tools=PAGE)
        assert (run.outcome, made.effects) == ("interrupt", ["status A-17"])
        assert "pick_date" in made.provider.requests[0].tools
        (call,) = [
            call
            for message in agent.messages
            for call in message.get("toolCalls", ())
            if call["function"]["name"] == "pick_date"
        ]
        run = agent.send(
            messages=[{"id": "r", "role": "tool", "toolCallId": call["id"], "content": "1 May"}],
            resume=[
                {
                    "interruptId": agent.question.id,
                    "status": "resolved",
                    "payload": {"approved": True},
                }
            ],
        )
        assert run.text == "Heard: 1 May | refunded 240 for A-17 | A-17 is paid"


@every_client
def test_a_tool_of_the_page_never_hides_one_of_the_server(
    client: str, caplog: pytest.LogCaptureFixture
) -> None:
    theirs = [{**PAGE[0], "name": name} for name in ("order_status", "a name with blanks")]
    with shop(client, clerk) as made, talk(made) as agent:
        agent.say("refund A-17", tools=[*theirs, *PAGE])
        assert made.effects == ["status A-17"]
        assert made.provider.requests[0].tools.count("order_status") == 1
        assert "a name with blanks" not in made.provider.requests[0].tools
        assert "named 'order_status'" in caplog.text
    with shop(client, clerk) as made, talk(made) as agent:
        made.chat["front_end"] = False
        agent.say("hello", tools=PAGE)
        assert "pick_date" not in made.provider.requests[0].tools


@every_client
def test_parts_of_a_result_reach_the_model(client: str) -> None:
    calls = [FakeCall("photograph", STATUS), FakeCall("order_status", STATUS)]
    with shop(client, [FakeReply(calls=calls), FakeReply("Nice.")]) as made, talk(made) as agent:
        assert agent.say("show me").text == "Nice."
        assert "cG5n" in str(made.sent)
        assert [*results_sent(made.sent)] == calls_sent(made.sent)
        agent.say("and again")
        assert "cG5n" in str(made.sent)


@every_client
def test_parts_that_a_tool_tells_beside_its_value_reach_the_model(client: str) -> None:
    plan = [FakeReply(calls=[FakeCall("scan", STATUS)]), FakeReply("I see."), FakeReply("Yes.")]
    with shop(client, plan) as made, talk(made) as agent:
        assert agent.say("scan it").text == "I see."
        assert "Scan of A-17." in str(results_sent(made.sent))
        assert "anBn" in str(made.sent)
        agent.restart()
        agent.say("and again")
        assert "anBn" in str(made.sent)


@every_client
@pytest.mark.parametrize("side_by_side", [True, False])
def test_a_tool_of_the_page_is_called_as_often_as_the_model_says(
    client: str, side_by_side: bool
) -> None:
    """Rolled twice, a die has two results, though both calls are the same."""
    roll = FakeCall("roll", {})
    rolls = [FakeReply(calls=[roll, roll])] if side_by_side else [FakeReply(calls=[roll])] * 2

    def plan(request: FakeRequest) -> FakeReply:
        heard = len(request.results)
        if heard == 2:
            return FakeReply("Rolled " + " and ".join(request.results))
        return rolls[heard]

    die = [{"name": "roll", "description": "", "parameters": {"type": "object"}}]
    with shop(client, plan) as made, talk(made) as agent:
        agent.say("roll twice", tools=die)
        for number in range(1 if side_by_side else 2):
            agent.restart()
            open_calls = calls_without_result(agent.messages)
            assert len(open_calls) == (2 if side_by_side else 1)
            run = agent.send(
                messages=[
                    {
                        "id": f"r{number}{n}",
                        "role": "tool",
                        "toolCallId": call,
                        "content": f"{n}{number}",
                    }
                    for n, call in enumerate(open_calls, 3)
                ]
            )
        assert run.text == ("Rolled 30 and 40" if side_by_side else "Rolled 30 and 31")


def calls_without_result(messages: Sequence[Mapping[str, Any]]) -> list[str]:
    """The ids of the calls that nobody has answered."""
    answered = {message.get("toolCallId") for message in messages}
    made = [call["id"] for message in messages for call in message.get("toolCalls", ())]
    return [call for call in made if call not in answered]


@every_client
def test_a_tool_that_asks_for_what_is_left_out_does_so_for_a_model_too(client: str) -> None:
    calls = [FakeCall("book", {"town": "Bern"}), FakeCall("book", {"nights": "many"}, "misfit")]
    with shop(client, [FakeReply(calls=calls), FakeReply("Booked.")]) as made, talk(made) as agent:
        assert agent.say("book").outcome == "interrupt"
        assert agent.question.answer({"nights": 3}).text == "Booked."
        assert made.effects == ["book Bern 3"]
        assert "/nights" in results_sent(made.sent)["misfit"]


@every_client
def test_refusals_are_text(client: str) -> None:
    with shop(client, [FakeReply(refusal="I will not do that.")]) as made, talk(made) as agent:
        assert agent.say("go").text == "I will not do that."


@every_client
@pytest.mark.parametrize("breaks", ["closes", "ends", "errs"])
def test_an_answer_that_breaks_off_is_no_answer_and_a_restart_asks_again(
    client: str, breaks: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """A body that ends tidily without a reason is broken as well, whatever an SDK makes of it."""
    words = "One two three four five six seven eight"
    plan = [FakeReply(words, breaks=breaks, after=6), FakeReply("There.")]
    with shop(client, plan) as made, talk(made, errors="return") as agent:
        run = agent.say("hello")
        assert (run.outcome, agent.status) == ("agent_error", "failed")
        assert "127.0.0.1" in (run.error or "")
        assert len(made.provider.requests) == 1
        assert agent.say("again").outcome == "success"
    assert KEY not in caplog.text


@every_client
@pytest.mark.parametrize("status", [400, 401, 403, 404])
def test_an_error_of_the_provider_names_status_and_host_and_no_key_or_body(
    client: str, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    """The provider of the test repeats the key in its body, as real ones do in part."""
    caplog.set_level(logging.DEBUG, "sayso")
    with shop(client, [FakeReply(status=status)]) as made:
        with talk(made, errors="return") as agent:
            run = agent.say("hello")
            assert run.outcome == "agent_error"
            assert f"127.0.0.1:{made.provider.url.split(':')[2].split('/')[0]}" in (run.error or "")
            assert f"answered {status}" in (run.error or "")
            assert KEY not in str(run.events)
            assert "for Bearer" not in str(run.events)
        assert len(made.provider.requests) == 1
    ours = [record for record in caplog.records if record.name.startswith("sayso")]
    assert KEY not in "".join(map(logging.Formatter().format, ours))


@every_client
def test_an_author_may_catch_what_a_model_failed_with(client: str) -> None:
    with FakeProvider([FakeReply(status=401)]) as provider:
        app = Sayso(store="memory:")

        @app.agent("careful")
        async def careful(turn: Turn) -> None:
            try:
                await turn.chat(CLIENTS[client](provider), model="fake-1")
            except ModelFailed as failed:
                await turn.say(f"No model: {failed.model}.")

        with Conversation(app) as agent:
            assert agent.say("hello").text == "No model: fake-1."


@every_client
def test_refusals_for_now_are_sent_again_before_a_stream_has_begun(client: str) -> None:
    plan = [FakeReply(status=429, headers=AGAIN), FakeReply(status=503, headers=AGAIN)]
    with shop(client, [*plan, FakeReply("There.")]) as made, talk(made) as agent:
        assert agent.say("hello").text == "There."
        assert len(made.provider.requests) == 3


@every_client
def test_a_port_where_nobody_listens_is_told(client: str) -> None:
    with FakeProvider([FakeReply()]) as provider:
        pass
    made = declared(provider, CLIENTS[client](provider, max_retries=0))
    with talk(made, errors="return") as agent:
        run = agent.say("hello")
        assert run.outcome == "agent_error"
        assert "127.0.0.1" in (run.error or "")


@every_client
def test_settings_go_to_the_provider_as_they_are(client: str) -> None:
    with shop(client, clerk) as made:
        made.chat |= {"max_tokens": 77, "stream_options": None}
        with talk(made) as agent:
            agent.say("hello")
    body = made.provider.requests[0].body
    assert body["max_tokens"] == 77
    assert "stream_options" not in body
    tools = [tool.get("function", tool) for tool in body["tools"]]
    assert all("additionalProperties" not in str(tool) for tool in tools)


async def test_a_synchronous_client_is_refused_with_the_name_of_the_other() -> None:
    from anthropic import Anthropic  # noqa: PLC0415 - the product does not import it either
    from openai import AzureOpenAI, OpenAI  # noqa: PLC0415 - the product does not import it either

    azure = AzureOpenAI(api_key=KEY, azure_endpoint="https://a.example", api_version="1")
    for client in (OpenAI(api_key=KEY), Anthropic(api_key=KEY), azure):
        made = declared(FakeProvider([FakeReply()]), client)
        with client, pytest.raises(DeclarationError, match=f"use Async{type(client).__name__} "):
            _say(made)


def _say(made: Any) -> None:
    import threading  # noqa: PLC0415 - a conversation has a loop of its own

    errors: list[BaseException] = []

    def work() -> None:
        try:
            with talk(made) as agent:
                agent.say("hello")
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    if errors:
        raise errors[0]


def test_what_is_no_client_is_refused() -> None:
    with (
        talk(declared(FakeProvider([FakeReply()]), object())) as agent,
        pytest.raises(DeclarationError, match="AsyncOpenAI"),
    ):
        agent.say("hello")


def test_a_provider_of_ones_own_needs_one_method() -> None:
    class Parrot:
        """Calls once, then says what it heard."""

        async def reply(self, request: ModelRequest, speak: Speaks) -> Reply:
            if not request.rounds:
                return Reply(calls=(RequestedCall("1", "order_status", '{"order_id": "A-1"}'),))
            text = f"{request.system} {request.rounds[-1].results[0]}"
            await speak.text(text)
            speak.usage("parrot", request.model, output_tokens=2)
            return Reply(text)

    with talk(declared(FakeProvider([FakeReply()]), Parrot())) as agent:
        run = agent.say("hello")
        assert run.text == run.result == "You are a clerk. A-1 is paid"
        assert run.events[-1]["usage"][0]["provider"] == "parrot"


def test_names_that_no_provider_takes_are_refused() -> None:
    app = Sayso(store="memory:")

    @app.tool(name="order status")
    async def order_status() -> str:
        return ""

    @app.agent("clerk")
    async def asks(turn: Turn) -> None:
        await turn.chat(Completions("http://127.0.0.1:1"), model="m", tools=[order_status])

    with Conversation(app) as agent, pytest.raises(DeclarationError, match="order status"):
        agent.say("hello")
