"""Approvals of a file: `default_approval:` of all agents, `approve:` of one that is a model."""

from pathlib import Path
from typing import Any

import pytest

from sayso import Principal, Sayso
from sayso.ops.agentfile import app_of
from sayso.ops.yamlfile import YamlFileError
from sayso.testing import Conversation, FakeCall, FakeProvider, FakeReply, FakeRequest

LEE = Principal(subject="lee")
TOOLS = '''
from decimal import Decimal
from enum import Enum
from sayso import Tool, approval

RAN = []

class Kind(Enum):
    CASH = "cash"
    CARD = "card"

async def issue_refund(order_id: str, amount: float, kind: Kind = Kind.CARD) -> str:
    """Refund an order."""
    RAN.append((order_id, amount))
    return f"refunded {amount:g}"

async def delete_order(order_id: str) -> str:
    """Delete an order."""
    RAN.append(order_id)
    return "deleted"

async def pay(amount: Decimal) -> str:
    """Pay."""
    RAN.append(str(amount))
    return "paid"

refund, delete, pay_out = Tool(issue_refund), Tool(delete_order), Tool(pay)
free = Tool(delete_order, name="free", approval=approval.never)
careful = approval.Policy(deny=["delete_*"], otherwise="allow")

async def own(turn):
    await turn.say(str(await turn.call(delete, order_id="A-17")))
'''
FILE = """
store: "memory:"
default_approval: {default}
agents:
  - name: clerk
    tools: [file_shop]
    spec:
      type: chat_model_agent
      model: {{name: fake-1, base_url: "${{FAKE_URL:-https://a.example}}"}}
      approve: {approve}
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with tools."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(__import__("sys").modules, "file_shop", raising=False)
    (tmp_path / "file_shop.py").write_text(TOOLS)
    return tmp_path


def served(folder: Path, approve: str = "{}", default: str = "never") -> Sayso:
    path = folder / "agents.yaml"
    path.write_text(FILE.format(default=default, approve=approve))
    return app_of(path)


def ran() -> list[Any]:
    effects: list[Any] = __import__("file_shop").RAN
    return effects


def verdict(app: Sayso, name: str, **arguments: Any) -> str:
    """What becomes of a call: `allow`, `ask` or `deny`."""
    tool = next(tool for tool in app.tools_of("clerk") if tool.name == name)
    call = tool.proposed(tool.arguments(arguments), LEE, "t1", "")
    return app.policy_of(tool).decide(call).verdict


def test_a_file_says_who_is_asked_and_what_may_be_edited(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By roles, over a restart; a smaller refund runs by itself."""

    def plan(request: FakeRequest) -> FakeReply:
        if request.results:
            return FakeReply("Done: " + request.results[-1])
        small = FakeCall("issue_refund", {"order_id": "A-1", "amount": 100})
        return FakeReply(
            calls=[small, FakeCall("issue_refund", {"order_id": "A-2", "amount": 101})]
        )

    approve = (
        "{issue_refund: {ask: true, when: {amount: {gt: 100}}, editable: true, expires_in: 3600}}"
    )
    with FakeProvider(plan) as provider:
        monkeypatch.setenv("FAKE_URL", provider.url)
        with Conversation(served(folder, approve), "clerk") as agent:
            assert agent.say("refund").outcome == "interrupt"
            assert ran() == [("A-1", 100.0)]
            assert agent.question.metadata["sayso"]["rule"] == "amount gt 100"
            agent.restart(served(folder, approve))
            assert agent.question.edit(amount=5).outcome == "success"
    assert ran() == [("A-1", 100.0), ("A-2", 5.0)]


def test_roles_and_counts_of_a_file_are_those_of_the_question(folder: Path) -> None:
    app = served(folder, "{issue_refund: {ask: true, by: [lead, chief], of: 2}}")
    tool = next(tool for tool in app.tools_of("clerk") if tool.name == "issue_refund")
    assert [people.terms() for people in app.policy_of(tool).approvers] == [
        {"by": ["lead", "chief"], "of": 2}
    ]


@pytest.mark.parametrize(
    ("when", "arguments", "says"),
    [
        ("{amount: {gt: 100}}", {"amount": 100}, "allow"),
        ("{amount: {gt: 100}}", {"amount": 100.5}, "ask"),
        ("{amount: {ge: 100}}", {"amount": 100}, "ask"),
        ("{amount: {lt: 0}}", {"amount": 0}, "allow"),
        ("{amount: {le: 0}}", {"amount": 0}, "ask"),
        ("{order_id: {eq: A-17}}", {"order_id": "A-17"}, "ask"),
        ("{order_id: {ne: A-17}}", {"order_id": "A-17"}, "allow"),
        ("{order_id: {in: [A-17, A-18]}}", {"order_id": "A-18"}, "ask"),
        ("{order_id: {matches: '^X'}}", {"order_id": "X-1"}, "ask"),
        ("{order_id: {matches: '^X'}}", {"order_id": "A-X"}, "allow"),
        ("{kind: {eq: cash}}", {"kind": "cash"}, "ask"),
        ("{amount: {gt: 10, lt: 20}}", {"amount": 15}, "ask"),
        ("{amount: {gt: 10, lt: 20}}", {"amount": 25}, "allow"),
        ("{amount: {gt: 10}, kind: {eq: cash}}", {"amount": 15}, "allow"),
        ("{order_id: {gt: 7}}", {"order_id": "A-17"}, "ask"),  # nothing to compare: a person
    ],
)
def test_conditions_compare_arguments_as_json_has_them(
    folder: Path, when: str, arguments: dict[str, Any], says: str
) -> None:
    app = served(folder, f"{{issue_refund: {{ask: true, when: {when}}}}}")
    assert verdict(app, "issue_refund", **{"order_id": "A-17", "amount": 1, **arguments}) == says


def test_decimal_numbers_are_compared_with_all_their_digits(folder: Path) -> None:
    app = served(folder, "{pay: {ask: true, when: {amount: {gt: 100}}}}")
    assert verdict(app, "pay", amount="100.00000000000000000001") == "ask"
    assert verdict(app, "pay", amount="100") == "allow"


@pytest.mark.parametrize(
    ("default", "approve", "name", "says"),
    [
        ("never", "{}", "pay", "allow"),
        ("ask", "{}", "pay", "ask"),
        ("deny", "{}", "pay", "deny"),
        ("guidelines", "{}", "pay", "allow"),
        ("file_shop:careful", "{}", "delete_order", "deny"),
        ("file_shop:careful", "{}", "pay", "allow"),
        ("deny", "{}", "free", "allow"),  # the tool says so itself
        ("deny", "{pay: never}", "pay", "allow"),  # and here the file does
        ("never", "{free: ask}", "free", "ask"),  # beside what the tool says
        ("never", '{"delete_*": deny, delete_order: ask}', "delete_order", "deny"),
        ("never", '{"*": ask, pay: never}', "pay", "ask"),
        ("never", '{"*": "file_shop:careful"}', "delete_order", "deny"),
        # A pattern means the tools that have the arguments; the others are left to the default.
        ("deny", '{"*": {ask: true, when: {kind: {eq: cash}}}}', "pay", "deny"),
        ("deny", '{"*": {ask: true, when: {kind: {eq: cash}}}}', "issue_refund", "allow"),
    ],
)
def test_the_file_stands_beside_what_tools_say(
    folder: Path, default: str, approve: str, name: str, says: str
) -> None:
    arguments: dict[str, dict[str, Any]] = {
        "pay": {"amount": 1},
        "issue_refund": {"order_id": "A-17", "amount": 1},
    }
    app = served(folder, approve, default)
    assert verdict(app, name, **arguments.get(name, {"order_id": "A-17"})) == says


def test_the_default_counts_for_agents_of_code_too(folder: Path) -> None:
    """They call the tools that they have imported, and are asked about by the file's default."""
    path = folder / "agents.yaml"
    path.write_text(
        "store: 'memory:'\ndefault_approval: ask\n"
        "agents: [{name: own, import: 'file_shop:own'}, {name: other, import: 'file_shop:own'}]\n"
    )
    with Conversation(app_of(path), "own") as agent:
        assert agent.say("go").outcome == "interrupt"
        assert ran() == []
        assert agent.question.approve().outcome == "success"
    assert ran() == ["A-17"]


@pytest.mark.parametrize(
    ("approve", "key", "says"),
    [
        ("{isue_refund: ask}", "approve.isue_refund", "the agent has no such tool"),
        ("{pay: perhaps}", "approve.pay", "is none of never, ask, deny, guidelines"),
        ('{pay: "file_shop:RAN"}', "approve.pay", "what is imported is no policy"),
        ('{pay: "nowhere:x"}', "approve.pay", "there is no module"),
        ("{pay: {}}", "approve.pay", "says nothing"),
        ("{pay: {ask: false}}", "approve.pay", "must be true"),
        ("{pay: {ask: 1}}", "approve.pay.ask", "must be true or false"),
        ("{pay: {asks: true}}", "approve.pay", "unknown key 'asks'"),
        ("{pay: {by: [lead]}}", "approve.pay.by", "write ask: true beside it"),
        ("{pay: {editable: true}}", "approve.pay", "nobody is ever asked"),
        ("{pay: {ask: true, of: 2}}", "approve.pay.of", "needs by:"),
        ("{pay: {ask: true, by: [lead], of: many}}", "approve.pay.of", "a number"),
        ("{pay: {ask: true, expires_in: -1}}", "approve.pay.expires_in", "seconds above zero"),
        ("{pay: {ask: true, when: {}}}", "approve.pay.when", "compares nothing"),
        ("{pay: {ask: true, when: {amount: 4711}}}", "when.amount", "must be a mapping"),
        ("{pay: {ask: true, when: {amount: {over: 4711}}}}", "when.amount", "unknown key 'over'"),
        ("{pay: {ask: true, when: {amount: {gt: [4711]}}}}", "amount.gt", "a number or a text"),
        ("{pay: {ask: true, when: {amount: {in: 4711}}}}", "amount.in", "must be a list"),
        ("{pay: {ask: true, when: {amount: {matches: '4711('}}}}", "matches", "regular expression"),
        (
            "{pay: {ask: true, when: {sum: {gt: 4711}}}}",
            "approve.pay.when",
            "the tool has no sum; it takes amount",
        ),
    ],
)
def test_each_problem_is_told_with_line_column_and_key_and_without_a_value(
    folder: Path, approve: str, key: str, says: str
) -> None:
    with pytest.raises(YamlFileError) as error:
        served(folder, approve)
    (line,) = str(error.value).splitlines()
    assert " line 10, column " in line
    assert key in line
    assert says in line
    assert "4711" not in line


@pytest.mark.parametrize("default", ["sometimes", '"file_shop:RAN"', "[ask]"])
def test_a_default_that_is_none_is_told(folder: Path, default: str) -> None:
    with pytest.raises(YamlFileError, match="line 3, column 19, default_approval: "):
        served(folder, default=default)
