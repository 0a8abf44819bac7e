"""What holds of an answer in the older dialect, whatever comes and whatever is open."""

from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from sayso.base import jsonvalue
from sayso.base.codes import Code
from sayso.base.options import AgentOptions, Legacy
from sayso.base.records import Interrupt, ThreadView
from sayso.gate.case import HoldAnswers, Replay, Resume, Start
from sayso.gate.refusals import Refuse
from sayso.protocol.legacy import parse_answer, read_command
from sayso.protocol.runinput import RunInput
from tests.contract.requirements import requirement
from tests.deciding import APPROVAL, decide
from tests.threads import message, request, settled, thread, yes

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["i0", "i1", "id", "approved"]), inner, max_size=3)
    ),
    max_leaves=6,
)
RESUMES = JSON | st.sampled_from(
    [{"approved": True}, '{"approved":true}', "true", {"i0": True, "i1": True}, {"i0": "x"}]
)
EVENTS = JSON | st.sampled_from(
    ["What?", {"id": "i0"}, {"id": "i1"}, '{"id":"i1"}', {"id": "nobody"}, '{"id":']
)
SCHEMAS: list[Any] = [None, {}, {"type": "boolean"}, {"type": "string"}, APPROVAL]
INTERRUPTS = st.lists(
    st.builds(
        lambda at, status, schema, said, began: settled(
            f"i{at}",
            status,
            True if status == "resolved" else None,
            schema=schema,
            message=said,
            run_key="run_1" if began and status != "open" else None,
        ),
        st.integers(0, 3),
        st.sampled_from(["open", "open", "resolved", "expired"]),
        st.sampled_from(SCHEMAS),
        st.sampled_from(["What?", None, "Which?"]),
        st.booleans(),
    ),
    unique_by=lambda item: item.id,
    max_size=4,
)


@st.composite
def commands(draw: st.DrawFn) -> RunInput:
    """A request that answers by command, now and then with something typed beside it."""
    command = {}
    if draw(st.booleans()):
        command["resume"] = draw(RESUMES)
    if draw(st.booleans()):
        command["interruptEvent"] = draw(EVENTS)
    said = [message("u1")] if draw(st.booleans()) else []
    return replace(request(messages=said), forwarded_props={"command": command})


def threads() -> st.SearchStrategy[ThreadView | None]:
    """Any thread, or none."""
    made = st.builds(
        lambda status, interrupts, held: thread(status, *interrupts, held=held),
        st.sampled_from(["suspended", "suspended", "suspended", "finished", "failed"]),
        INTERRUPTS,
        st.sampled_from([False, False, False, True]),
    )
    return st.none() | made


@requirement("LG-14")
@given(commands(), threads())
def test_an_answer_by_command_never_begins_a_turn(
    given_: RunInput, view: ThreadView | None
) -> None:
    """D2: unless it repeats what is settled beside a new message, as entries may."""
    decision = decide(given_, view)
    if given_.command is None or not isinstance(decision, Start):
        return
    assert view is not None
    assert given_.messages
    assert any(item.status != "open" for item in view.interrupts)


@requirement("LG-14")
@given(commands(), threads())
def test_what_a_command_settles_is_what_an_entry_would_settle(
    given_: RunInput, view: ThreadView | None
) -> None:
    """The same gate: payloads that a `resume` list could not bring are not taken."""
    decision = decide(given_, view)
    if given_.command is None or not isinstance(decision, Resume | HoldAnswers) or view is None:
        return
    answered = decision.settle if isinstance(decision, Resume) else decision.items
    entries = [yes(item.id, _payload(item)) for item in answered]
    listed = decide(
        replace(given_, forwarded_props={}, resume=tuple(entries), messages=()),
        view,
        options=AgentOptions(partial="accumulate"),
    )
    assert isinstance(listed, type(decision) | Replay), listed
    for item in answered:
        assert (item.held.channel if item.held else item.channel) == "legacy"


def _payload(item: Interrupt) -> Any:
    if item.held is not None:
        return None if item.held.payload is None else jsonvalue.decode(item.held.payload)
    return None if item.payload is None else jsonvalue.decode(item.payload)


@requirement("LG-14")
@given(commands(), threads())
def test_a_command_answers_only_what_it_can_be_meant_for(
    given_: RunInput, view: ThreadView | None
) -> None:
    """C4, D1: one id of its event, keys of its map, or the only question that waits."""
    decision = decide(given_, view)
    command = given_.command
    if command is None or not isinstance(decision, Resume | HoldAnswers) or view is None:
        return
    answered = {
        item.id for item in (decision.settle if isinstance(decision, Resume) else decision.items)
    }
    if command.names and command.event is not None:
        assert answered == set(command.names)
    elif command.event is not None:
        said = {item.id: item.message for item in view.interrupts}
        assert [said[key] for key in answered] == [command.event]
    elif len(answered) > 1:
        assert answered <= set(command.names)


@given(commands(), threads())
def test_switched_off_a_command_changes_nothing(given_: RunInput, view: ThreadView | None) -> None:
    """LG-15: the decision is that of the same request without it."""
    off = AgentOptions(legacy=Legacy(answers=False))
    assert decide(given_, view, options=off) == decide(
        replace(given_, forwarded_props={}), view, options=off
    )


@given(JSON, JSON)
def test_reading_a_command_is_total(props: Any, resume: Any) -> None:
    """Any JSON is read; null and absent are one."""
    read_command(props)
    found = read_command({"command": {"resume": resume}})
    assert (found is None) is (resume is None)
    read = parse_answer(resume, takes_text=False)
    assert isinstance(resume, str) or read == resume


@given(commands(), threads())
def test_a_refused_command_names_its_reason(given_: RunInput, view: ThreadView | None) -> None:
    """TR-33: a code of the enum, and one sentence."""
    decision = decide(given_, view)
    if isinstance(decision, Refuse):
        assert decision.code in Code
        assert decision.message
