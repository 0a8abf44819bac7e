"""The rows of `ops` that ask: forms, confirmations, options, and answers that never come."""

from pathlib import Path
from typing import Any

import pytest

from sayso.base.clock import format_time
from tests.demo.conftest import EXPIRES_IN, Demo, said
from tests.server import Event, cancelled, resolved

FILING = {"quarter": "Q3", "year": 2026, "revenue": 1234.5}
YES = {"approved": True}


async def test_the_quarterly_form_says_what_fits(demo: Demo) -> None:
    """Design 9, `quarterly`: quarter Q1 to Q4, year from 2000, revenue a number."""
    (question,) = await demo.ask("quarterly")
    assert question["reason"] == "input_required"
    schema = question["responseSchema"]
    assert schema["properties"]["quarter"]["enum"] == ["Q1", "Q2", "Q3", "Q4"]
    assert schema["properties"]["year"]["type"] == "integer"
    assert schema["properties"]["year"]["minimum"] == 2000
    assert schema["properties"]["revenue"]["type"] == "number"
    assert sorted(schema["required"]) == ["quarter", "revenue", "year"]


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        ({"quarter": "Q5"}, "/quarter"),
        ({"year": 1999}, "/year"),
        ({"year": "2026"}, "/year"),
        ({"revenue": "much"}, "/revenue"),
        ({"extra": 1}, "/extra"),
    ],
)
async def test_a_wrong_figure_is_named_and_nothing_is_filed(
    demo: Demo, change: Event, pointer: str
) -> None:
    """Design 4: the field that is wrong, by its pointer; the form stays open."""
    (question,) = await demo.ask("quarterly")
    refused = (await demo.answer(resolved(question, {**FILING, **change})))[-1]
    assert refused["code"] == "invalid_payload"
    (about,) = refused["metadata"]["sayso"]["interrupts"]
    assert [problem["pointer"] for problem in about["problems"]] == [pointer]
    assert await demo.effects() == []
    await demo.answer(resolved(question, FILING))
    assert await demo.done() == [("filing", FILING)]


async def test_a_withdrawn_form_files_nothing(demo: Demo) -> None:
    """Nobody said anything, so nothing is done, and the person is told."""
    (question,) = await demo.ask("quarterly")
    events = await demo.answer(cancelled(question))
    assert said(events) == "Nothing was filed: the question was withdrawn."
    assert await demo.effects() == []


async def test_a_deployment_takes_two_yeses_in_turn(demo: Demo) -> None:
    """Design 9, `deploy`: the second question comes after the first answer, the effect last."""
    (first,) = await demo.ask("deploy")
    assert first["reason"] == "confirmation"
    assert set(first["responseSchema"]["properties"]) == {"approved", "note"}
    events = await demo.answer(resolved(first, {"approved": True, "note": "go"}))
    (second,) = events[-1]["outcome"]["interrupts"]
    assert second["id"] != first["id"]
    assert second["message"] != first["message"]
    assert await demo.effects() == []
    events = await demo.answer(resolved(second, YES))
    assert said(events) == "Build 2.4.1 is live."
    assert await demo.done() == [("deploy", {"build": "2.4.1", "notes": ["go", ""]})]


@pytest.mark.parametrize("yeses", [0, 1])
async def test_a_no_at_either_question_deploys_nothing(demo: Demo, yeses: int) -> None:
    """The note is the reason."""
    (question,) = await demo.ask("deploy")
    for _ in range(yeses):
        events = await demo.answer(resolved(question, YES))
        (question,) = events[-1]["outcome"]["interrupts"]
    events = await demo.answer(resolved(question, {"approved": False, "note": "friday"}))
    assert said(events) == "Not deployed: you said no (friday)."
    assert await demo.effects() == []


async def test_each_question_of_a_deployment_has_its_own_time(demo: Demo) -> None:
    """Design 9: expiring after `--expires-in`, counted from when it was asked."""
    (first,) = await demo.ask("deploy")
    assert first["expiresAt"] == format_time(demo.clock.now() + int(EXPIRES_IN * 1000))
    await demo.clock.advance(EXPIRES_IN - 1)
    events = await demo.answer(resolved(first, YES))
    (second,) = events[-1]["outcome"]["interrupts"]
    assert second["expiresAt"] == format_time(demo.clock.now() + int(EXPIRES_IN * 1000))


async def test_a_deployment_that_nobody_answers_goes_on_without_anybody(demo: Demo) -> None:
    """Design 4: the sweeper settles it as expired, and the agent tells what became of it."""
    (question,) = await demo.ask("deploy")
    await demo.clock.advance(EXPIRES_IN + 2)
    events = await demo.connect()
    assert events[-1]["outcome"] == {"type": "success"}
    messages = [e["messages"] for e in events if e["type"] == "MESSAGES_SNAPSHOT"][-1]
    assert messages[-1]["content"] == "Not deployed: nobody answered in time."
    late = (await demo.answer(resolved(question, YES)))[-1]
    assert late["code"] == "interrupt_expired"
    assert await demo.effects() == []


async def test_a_pause_inside_a_phase_ends_the_step_and_begins_it_again(demo: Demo) -> None:
    """Design 9, `progress`, and 3, rule 7: the boundary closes the phase, the resume reopens it."""
    events = await demo.run(text="progress")
    kinds = [event["type"] for event in events]
    assert kinds.index("STEP_STARTED") < kinds.index("TEXT_MESSAGE_START")
    assert kinds.index("TEXT_MESSAGE_END") < kinds.index("STEP_FINISHED")
    assert kinds.index("STEP_FINISHED") < kinds.index("MESSAGES_SNAPSHOT")
    (question,) = events[-1]["outcome"]["interrupts"]
    events = await demo.answer(resolved(question, YES))
    steps = [(e["type"], e["stepName"]) for e in events if e["type"].startswith("STEP")]
    assert steps == [("STEP_STARTED", "review"), ("STEP_FINISHED", "review")]
    assert said(events) == "The monthly report is published."
    assert await demo.kinds() == ["progress"]


@pytest.mark.parametrize("payload", [False, {"approved": False}, None])
async def test_a_report_is_not_published_without_a_yes(demo: Demo, payload: Any) -> None:
    """No, in the shape that the schema asks for, or withdrawn."""
    (question,) = await demo.ask("progress")
    if payload is False:
        refused = (await demo.answer(resolved(question, payload)))[-1]
        assert refused["code"] == "invalid_payload"
    else:
        answer = cancelled(question) if payload is None else resolved(question, payload)
        assert "Not published" in said(await demo.answer(answer))
    assert await demo.effects() == []


async def test_slow_work_has_text_before_and_after(demo: Demo) -> None:
    """Design 9, `slow`: one run, and one effect."""
    events = await demo.run(text="slow")
    assert said(events).split("\n") == [
        "I rebuild the search index. That takes a moment.",
        "The search index is rebuilt.",
    ]
    assert await demo.done() == [("slow", {"what": "search index"})]


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ({"payload": "Ada"}, "Hello, Ada!"),
        ({"payload": ""}, "Hello, !"),
        ({"payload": None}, "Nameless it is."),
        ({}, "Nameless it is."),
    ],
)
async def test_a_nickname_may_be_text_or_nothing(demo: Demo, answer: Event, text: str) -> None:
    """Design 9, `nickname`: null is an answer; an absent payload is null (RE-05)."""
    (question,) = await demo.ask("nickname")
    entry = {"interruptId": question["id"], "status": "resolved", **answer}
    assert said(await demo.answer(entry)) == text


async def test_a_nickname_is_no_number(demo: Demo) -> None:
    """What fits neither text nor null is refused."""
    (question,) = await demo.ask("nickname")
    refused = (await demo.answer(resolved(question, 7)))[-1]
    assert refused["code"] == "invalid_payload"
    events = await demo.answer(cancelled(question))
    assert said(events) == "I do not know what to call you: the question was withdrawn."


async def test_a_request_stops_the_demo_before_anything_named(demo: Demo) -> None:
    """Design 3: a breakpoint of the run, then the tool's own card, then one effect."""
    props = {"sayso": {"breakpoints": {"before": "issue_refund"}}}
    (stop,) = await demo.ask("refund", forwardedProps=props)
    assert stop["reason"] == "sayso:breakpoint"
    events = await demo.answer(resolved(stop, {"action": "continue"}))
    (card,) = events[-1]["outcome"]["interrupts"]
    assert (card["reason"], card["toolCallId"]) == ("tool_call", stop["toolCallId"])
    assert await demo.effects() == []
    await demo.answer(resolved(card, YES))
    assert await demo.kinds() == ["refund"]


def files(data: Path, folder: str) -> int:
    """How many files there are in a folder of the sandbox."""
    return sum(1 for path in data.glob(f"sandbox/*/{folder}/*") if path.is_file())


@pytest.mark.parametrize(
    ("action", "old", "staged", "touched"),
    [
        ("proceed_all", 0, 0, 847),
        ("proceed_scoped", 535, 0, 312),
        ("stage_only", 0, 847, 847),
        ("cancel", 847, 0, None),
    ],
)
async def test_a_clean_up_does_to_the_files_what_was_chosen(
    demo: Demo, action: str, old: int, staged: int, touched: int | None
) -> None:
    """Design 9, `clean up`: 847 files that are really there, and really go."""
    (question,) = await demo.ask("clean up")
    assert question["reason"] == "sayso:decision"
    choices = question["responseSchema"]["properties"]["action"]["oneOf"]
    assert [choice["const"] for choice in choices] == [
        "proceed_all",
        "proceed_scoped",
        "stage_only",
        "cancel",
    ]
    assert "312" in choices[1]["description"]
    told = question["metadata"]["sayso"]
    assert told["impact"] == {"files": 847, "temporary": 312, "reversible": False}
    assert told["plannedAction"] in question["message"]
    assert told["why"] in question["message"]
    assert files(demo.data, "old") == 847
    await demo.answer(resolved(question, {"action": action}))
    assert (files(demo.data, "old"), files(demo.data, "staged")) == (old, staged)
    effect = ("cleanup", {"action": action, "files": touched})
    assert await demo.done() == ([] if touched is None else [effect])


async def test_what_nobody_planned_is_not_done_to_the_files(demo: Demo) -> None:
    """Design 3: the action is one of the options; anything else leaves the question open."""
    (question,) = await demo.ask("clean up")
    for wrong in ({"action": "delete_everything"}, {"action": "proceed_all", "params": {}}, {}):
        assert (await demo.answer(resolved(question, wrong)))[-1]["code"] == "invalid_payload"
    events = await demo.answer(cancelled(question))
    assert said(events) == "All 847 files stay where they are."
    assert (files(demo.data, "old"), await demo.done()) == (847, [])


async def test_threads_do_not_clean_up_each_others_files(demo: Demo) -> None:
    """A thread's id is a stranger's text: it leads to a folder of its own, and nowhere else."""
    await demo.ask("clean up", thread="../../up")
    (question,) = await demo.ask("clean up", thread="t-2")
    await demo.answer(resolved(question, {"action": "proceed_all"}), thread="t-2")
    assert files(demo.data, "old") == 847
    assert {path.name for path in demo.data.iterdir()} <= {
        "sandbox",
        "ledger.db",
        "ledger.db-wal",
        "ledger.db-shm",
    }
