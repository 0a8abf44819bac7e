"""What a form shows, hands back and leaves alone: every character and every digit."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, Request, expect

from e2e.playground import Playground
from tests.process.replicas import Serving
from tests.sources import ROOT

BIG = 9007199254740993
MAIL = "Dear Ada,\n\nall is 10 % off.\n\nYours, the shop"

EVERYTHING: dict[str, Any] = {
    "text": "\tone  \n\n\u202etwo\u00a0\u0008 \n",
    "line": "  a line  ",
    "mail": "ada@shop.example",
    "link": "a:b",
    "day": "0001-02-03",
    "moment": "2026-05-01T10:00:00.123456+02:00",
    "whole": -BIG,
    "part": 0.1,
    "wholes": [BIG, 1, 2**64 - 1],
    "either": BIG,
    "anything": {"a": [BIG, "12", " ", "x\r\ny", None], "b": {"c": 1.5}},
}
PICKED = {**EVERYTHING, "day": "2026-05-01", "moment": "2026-05-01T10:00:00+02:00"}
BREAKS = {**EVERYTHING, "text": "a\r\nb\r\n", "line": "a\rb\n\r", "anything": "true"}
STRANGE = {
    **EVERYTHING,
    "mail": " nobody at all ",
    "link": "no link\nat all",
    "day": "next Monday",
    "moment": "",
}
OTHER = {"date": "2020-01-02", "datetime-local": "2020-01-02T03:04"}
LOCAL = {"type": "string", "format": "date-time-local"}
PAIR = {
    "type": "array",
    "prefixItems": [{"type": "integer"}, {"type": "string"}],
    "minItems": 2,
    "maxItems": 2,
}


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    """The app of `e2e/forms.py`."""
    folder: Path = tmp_path_factory.mktemp("forms")
    store = f"sqlite:///{folder / 'forms.db'}"
    path = f"{ROOT / 'server'}:{ROOT}"
    with Serving(folder, "e2e.forms:app", store=store, agent="desk", PYTHONPATH=path) as running:
        yield running


@pytest.fixture
def form(desk: Serving, page: Page) -> Iterator[Playground]:
    """The playground on that app."""
    opened = Playground(desk, page)
    opened.open()
    yield opened
    assert opened.faults == []


def asks(form: Playground, name: str, **told: Any) -> Locator:
    """The card of what the agent asks when it is told this."""
    form.say(json.dumps(told))
    card = form.cards(name)
    expect(card).to_have_count(1)
    return card


def edits(form: Playground, tool: str, args: dict[str, Any]) -> Locator:
    """The card of a call with its arguments open to be edited."""
    card = asks(form, f"Approval {tool}", call=tool, args=args)
    card.get_by_role("button", name="Edit arguments").click()
    expect(card.get_by_role("button", name="Approve with changes")).to_be_visible()
    expect(card.locator("form :is(input, textarea, select)").first).to_be_visible()
    return card


def sent(form: Playground, card: Locator, button: str) -> Any:
    """What the server gets as the answer: its payload, with the digits that stand beside it."""
    with form.page.expect_request(lambda one: resumes(one)) as waiting:
        card.get_by_role("button", name=button, exact=True).click()
    (entry,) = json.loads(waiting.value.post_data or "")["resume"]
    return whole(entry)


def whole(entry: dict[str, Any]) -> Any:
    """The payload of an entry, none of which is null, with the digits that stand beside it."""
    payload: Any = entry.get("payload")
    for at, digits in entry.get("metadata", {}).get("sayso", {}).get("exact", {}).items():
        if at == "":
            assert float(payload) == float(digits)
            payload = int(digits)
            continue
        *path, last = at.split("/")[1:]
        place = payload
        for key in path:
            place = place[int(key) if isinstance(place, list) else key]
        assert float(place[int(last) if isinstance(place, list) else last]) == float(digits)
        place[int(last) if isinstance(place, list) else last] = int(digits)
    return payload


def resumes(request: Request) -> bool:
    """Whether a request brings answers."""
    return request.method == "POST" and '"resume":[' in (request.post_data or "")


def test_a_line_break_survives_an_edit_and_can_be_typed(form: Playground) -> None:
    card = edits(form, "send_mail", {"to": "ada@shop", "body": MAIL})
    body = card.get_by_role("textbox", name="Body")
    expect(body).to_have_value(MAIL)
    body.press("Control+End")
    form.page.keyboard.type("!")
    form.press("Enter")
    form.page.keyboard.type("PS")
    args = sent(form, card, "Approve with changes")["editedArgs"]
    assert args == {"to": "ada@shop", "body": f"{MAIL}!\nPS"}
    form.shows(f"sent {json.dumps(args['body'])} to ada@shop")


def test_neither_wheel_nor_arrows_change_a_number(form: Playground) -> None:
    args = {**EVERYTHING, "whole": 7, "part": 240.0, "wholes": [1, 2], "either": 5}
    card = edits(form, "keep", args)
    for name in ("whole", "part", "wholes_0", "wholes_1", "either"):
        field = card.locator(f"[id$={name}]:is(input)")
        before = field.input_value()
        field.click()
        for _ in range(3):
            form.page.mouse.wheel(0, 120)
        form.press("ArrowUp", "ArrowUp", "ArrowDown", "PageUp")
        expect(field).to_have_value(before)
    assert sent(form, card, "Approve with changes")["editedArgs"] == args


def test_every_digit_is_shown_edited_and_run(form: Playground) -> None:
    card = asks(
        form, "Approval transfer", call="transfer", args={"account_id": BIG, "amount": 10.5}
    )
    expect(card.get_by_text(str(BIG)).first).to_be_visible()
    card.get_by_role("button", name="Edit arguments").click()
    amount = card.get_by_role("textbox", name="Amount")
    amount.fill("0.12345678901234567890")
    card.get_by_role("button", name="Approve with changes").click()
    expect(card.get_by_text("too many digits")).to_be_visible()
    amount.fill("20.10")
    args = sent(form, card, "Approve with changes")["editedArgs"]
    assert args == {"account_id": BIG, "amount": 20.1}
    form.shows(f"moved 20.1 to {BIG}")


def test_a_neighbour_can_be_meant(form: Playground) -> None:
    card = edits(form, "transfer", {"account_id": BIG, "amount": 1.0})
    card.get_by_role("textbox", name="Account Id").fill(str(BIG - 1))
    sent(form, card, "Approve with changes")
    form.shows(f"moved 1.0 to {BIG - 1}")


@pytest.mark.parametrize("args", [EVERYTHING, PICKED, BREAKS], ids=["texts", "picked", "breaks"])
def test_what_is_touched_and_put_back_is_what_was_asked(
    form: Playground, args: dict[str, Any]
) -> None:
    card = edits(form, "keep", args)
    fields = card.locator("form :is(input:not([type=radio]), textarea)")
    for field in fields.all():
        before = field.input_value()
        kind = field.get_attribute("type") or ""
        field.fill(OTHER.get(kind, f"{before}1"))
        field.fill(before)
    assert sent(form, card, "Approve with changes")["editedArgs"] == args
    form.shows("kept")


def test_a_text_that_its_format_does_not_know_is_shown_as_it_is(form: Playground) -> None:
    card = edits(form, "keep", STRANGE)
    for name in ("mail", "link", "day", "moment"):
        expect(card.locator(f"[id$=__{name}]")).to_have_value(STRANGE[name])
    card.get_by_role("button", name="Approve with changes").click()
    for words in ("Must be a valid email.", "Must be a valid uri.", "Must be a valid date."):
        expect(card.get_by_text(words)).to_be_visible()


@pytest.mark.parametrize(
    ("schema", "typed", "given"),
    [
        ({"type": "integer", "default": BIG}, None, BIG),
        ({"type": "integer"}, str(BIG), BIG),
        ({"enum": [BIG - 1, BIG, BIG + 1]}, str(BIG), BIG),
        ({"const": BIG}, None, BIG),
        ({"type": "integer", "minimum": BIG, "maximum": BIG}, str(BIG), BIG),
        (PAIR, "5", [5, "5"]),
        ({"type": "string", "format": "time-local"}, "09:30", "09:30:00"),
        (LOCAL, "2026-05-01T09:30", "2026-05-01T09:30:00"),
        ({"type": "string", "format": "time"}, "09:30", None),
        ({"type": "string", "format": "hidden"}, "seen", "seen"),
    ],
    ids=lambda one: json.dumps(one)[:40] if isinstance(one, dict) else "",
)
def test_a_question_is_answered_as_it_is_filled_in(
    form: Playground, schema: dict[str, Any], typed: str | None, given: Any
) -> None:
    whole = {"type": "object", "properties": {"it": schema}, "required": ["it"]}
    card = asks(form, "Input needed", ask=whole)
    fields = card.locator("form :is(input, textarea, select)")
    expect(fields.first).to_be_visible()
    for field in fields.all() if typed is not None else []:
        if field.evaluate("one => one.localName") == "select":
            field.select_option(label=typed)
        else:
            field.fill(typed or "")
    said = sent(form, card, "Answer")["it"]
    assert given is None or said == given
    form.shows(f"got {json.dumps({'it': said})}")


def test_the_state_is_shown_and_handed_back_with_all_digits(form: Playground) -> None:
    asks(form, "Input needed", ask={"type": "string"}, keep=[BIG, {"least": -BIG}])
    panel = form.page.get_by_role("region", name="State")
    expect(panel).to_contain_text(str(BIG))
    expect(panel).to_contain_text(f"-{BIG}")
    form.cards("Input needed").get_by_role("textbox").fill("on")
    with form.page.expect_request(lambda one: resumes(one)) as waiting:
        form.cards("Input needed").get_by_role("button", name="Answer", exact=True).click()
    body = json.loads(waiting.value.post_data or "")
    assert body["state"] == {"kept": [BIG, {"least": -BIG}]}
    form.shows('got "on"')


def test_a_member_that_no_field_can_have_is_written_as_json(form: Playground) -> None:
    whole = {"type": "object", "properties": {"": {"type": "string"}, "a": {"type": "integer"}}}
    card = asks(form, "Input needed", ask=whole)
    card.get_by_role("textbox", name="Answer as JSON").fill(json.dumps({"": "x", "a": BIG}))
    assert sent(form, card, "Answer") == {"": "x", "a": BIG}
    form.shows(f"got {json.dumps({'': 'x', 'a': BIG})}")


def test_on_a_phone_the_choice_of_agents_covers_nothing(form: Playground) -> None:
    form.page.set_viewport_size({"width": 390, "height": 844})
    choice = form.page.locator(".agent-choice select")
    expect(choice).to_be_visible()
    brand, left = form.page.locator(".brand").bounding_box(), choice.bounding_box()
    assert brand is not None
    assert left is not None
    assert brand["x"] + brand["width"] <= left["x"]
