"""Each code has its facts in one place, and every table of codes is printed from there."""

import ast
import inspect
import json
import re
from collections.abc import Iterable, Mapping

import pytest

from sayso.base import codes
from sayso.base.codes import Code
from sayso.base.errors import Problem
from sayso.engine.snapshots import refused
from sayso.gate.refusals import Refuse
from sayso.http.errors import problem_body
from sayso.protocol import reasons
from sayso.protocol.client_profile import ClientProfile
from sayso.protocol.frames import events_in
from sayso.protocol.runinput import RunInput
from sayso.streams.ending import Ending
from tests.generated import check_file, check_part
from tests.sources import PACKAGE, ROOT

DOCS = ROOT / "docs"
WEB = ROOT / "web" / "react"
REFUSALS = [code for code in Code if "refusal" in code.facts.kinds]
ENDINGS = [code for code in Code if "ending" in code.facts.kinds]
PROBLEMS = [code for code in Code if "problem" in code.facts.kinds]


def test_a_code_is_its_text() -> None:
    """It is found by its text, and its facts do not change what it is equal to."""
    assert all(Code(str(code)) is code and code == code.value for code in Code)
    assert {"thread_busy": 1}[Code.THREAD_BUSY]


@pytest.mark.parametrize("code", Code)
def test_the_facts_of_a_code_agree(code: Code) -> None:
    """A status for each problem and no other; without a stream a refusal is a problem."""
    facts = code.facts
    assert facts.kinds
    assert ("problem" in facts.kinds) is (facts.status is not None)
    assert "refusal" not in facts.kinds or "problem" in facts.kinds
    assert not facts.fatal or facts.lasting


def test_the_gate_refuses_with_refusals_alone() -> None:
    """Every code that our own code makes a `Refuse` of is marked as one, and no other."""
    named = set()
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and _name(node.func) in ("Refuse", "_refuse"):
                named |= {arg.attr for arg in node.args if isinstance(arg, ast.Attribute)}
    assert {code for code in Code if code.name in named} == set(REFUSALS)


def _name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


@pytest.mark.parametrize("code", [code for code in ENDINGS if code not in PROBLEMS])
def test_the_ending_of_a_run_is_no_problem(code: Code) -> None:
    """It has no status: the mistake is seen where it is made, not when it is sent."""
    with pytest.raises(ValueError, match="ends a run"):
        Problem(code, "no")


async def test_the_web_client_is_tested_with_every_code() -> None:
    """What it gets of each, and what it should make of it, as `failure.test.ts` reads them."""
    told = {
        "refusals": [
            {"event": await _refused(code), "stale": code.facts.stale, **_lasting(code)}
            for code in REFUSALS
        ],
        "problems": [
            {
                "status": code.facts.status,
                "body": problem_body(Problem(code, "no")),
                **_lasting(code),
            }
            for code in PROBLEMS
        ],
        "endings": [{"event": _ended(code)} for code in ENDINGS],
    }
    check_file(WEB / "tests" / "codes.json", json.dumps(told, indent=2) + "\n")


def _lasting(code: Code) -> dict[str, bool]:
    return {"lasting": code.facts.lasting}


async def _refused(code: Code) -> object:
    request, peer = RunInput(thread_id="t", run_id="r"), ClientProfile(speaks_v1=True)
    reader = refused(request, peer, Refuse(code, "no"))
    frames = b""
    while (chunk := await reader.next_chunk()) is not None:
        frames += chunk
    return events_in(frames)[-1]


def _ended(code: Code) -> object:
    ending = Ending(type="error", code=code.value, message="no", details={"code": code.value})
    return events_in(ending.last_frames("t", "r", ClientProfile(speaks_v1=True)))[-1]


def test_the_web_client_has_the_facts_that_it_reads() -> None:
    """And the labels of reasons, for its cards and for the console."""
    check_file(WEB / "src" / "core" / "codes.ts", _typescript())


def _typescript() -> str:
    stale = _set("STALE", [code for code in Code if code.facts.stale])
    lasting = _set("LASTING", [code for code in Code if code.facts.lasting])
    labels = "".join(f'  ["{reason}", "{label}"],\n' for reason, label in reasons.LABELS.items())
    texts = "".join(
        f'  ["{code}", {json.dumps(code.facts.chat)}],\n' for code in Code if code.facts.chat
    )
    return f"""\
// Printed from the server's codes and reasons by tests/unit/test_codes.py: do not edit.

/** Codes after which only the server knows what is open, so a client has to refresh. */
{stale}
/** Codes of what the server refuses however often it is sent. */
{lasting}
/** A word or two for each reason of the server's own. */
export const LABELS: ReadonlyMap<string, string> = new Map([
{labels}]);

/** Names of rules that no author gave. */
export const NAMELESS_RULE = /{reasons.NAMELESS_RULE}/;

/** The words for people of a code, with `{{by}}` for who decided. */
export const TEXTS: ReadonlyMap<string, string> = new Map([
{texts}]);
"""


def _set(name: str, members: Iterable[Code]) -> str:
    listed = "".join(f'  "{code}",\n' for code in members)
    return f"export const {name}: ReadonlySet<string> = new Set([\n{listed}]);\n"


def test_the_page_about_http_lists_every_code() -> None:
    rows = "".join(
        f"| [`{code}`](troubleshooting.md#{code}) | {code.facts.status or ''} "
        f"| {', '.join(code.facts.kinds)} | {_advice(code)} |\n"
        for code in Code
    )
    head = "| code | status | is a | what a client does |\n|---|---|---|---|\n"
    check_part(DOCS / "http.md", "codes", head + rows)


def _advice(code: Code) -> str:
    facts = code.facts
    advice = [
        *(["refreshes"] if facts.stale else []),
        *(["does not send the same again"] if facts.lasting else []),
    ]
    return ", ".join(advice)


def test_the_page_about_troubleshooting_explains_every_code() -> None:
    told = _docstrings()
    groups: Mapping[str, list[Code]] = {
        "Problems": [code for code in Code if code not in REFUSALS and code.facts.status],
        "Refusals": REFUSALS,
        "Endings": [code for code in Code if not code.facts.status],
    }
    text = ""
    for name, members in groups.items():
        text += f"## {name}\n\n"
        for code in members:
            facts = code.facts
            status = [f"HTTP {facts.status}"] if facts.status else []
            kinds = ", ".join((*status, *facts.kinds))
            meaning, advice = told[code]
            text += f"### `{code}`\n\n*{kinds}.* {meaning}\n\n{advice}\n\n"
    check_part(DOCS / "troubleshooting.md", "codes", text)


def _docstrings() -> dict[Code, tuple[str, str]]:
    """What each code's docstring says: what happened, and what to do."""
    (tree,) = (
        node
        for node in ast.parse(inspect.getsource(codes)).body
        if isinstance(node, ast.ClassDef) and node.name == "Code"
    )
    told = {}
    for node, after in zip(tree.body, tree.body[1:], strict=False):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            assert isinstance(after, ast.Expr)
            text = inspect.cleandoc(ast.literal_eval(after.value))
            meaning, advice = text.split("\n\n")
            told[Code[node.targets[0].id]] = (meaning, advice)
    assert told.keys() == set(Code)
    return told


def test_every_reason_of_ours_is_in_the_docs() -> None:
    page = (DOCS / "http.md").read_text("utf-8")
    assert [reason for reason in reasons.LABELS if f"`{reason}`" not in page] == []


def test_no_module_spells_a_reason_of_ours_itself() -> None:
    """`protocol/reasons` does, and the suite of stores, which knows no engine."""
    spelled = re.compile(r'"sayso:(?:decision|breakpoint|indeterminate|failed|client-tool)"')
    found = [
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        if spelled.search(path.read_text("utf-8")) and "store_suite" not in path.parts
    ]
    assert found == ["protocol/reasons.py"]
