"""What the README and the guides show is what runs."""

import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import httpx
import pytest

from sayso import approval
from sayso.client import InvalidPayload
from sayso.stores.aesgcm import add_key
from tests.contract.server import Client, answer, approve, deny
from tests.contract.wire import Exchange
from tests.sources import ROOT, files_below

PAGES = (
    "README.md",
    "docs/agents.md",
    "docs/agui.md",
    "docs/models.md",
    "docs/policies.md",
    "docs/serving.md",
    "docs/python-client.md",
    "docs/copilotkit.md",
    "examples/copilotkit/README.md",
    "docs/approvers.md",
    "docs/limits.md",
    "docs/retention.md",
    "docs/tracing.md",
    "docs/secrets.md",
    "docs/identity.md",
)
"""Those whose Python runs, each block by itself; `docs/testing.md` is one module."""
PROSE = sorted(path.relative_to(ROOT) for path in files_below(".") if path.suffix == ".md")


def readme() -> dict[str, Any]:
    """The names that the pages' Python defines; apps by their agents, the first one as `app`.

    Each block is run as it stands, with nothing but the file that the README says to save and the
    key file that a page says to make.
    """
    text = "".join((ROOT / page).read_text("utf-8") for page in PAGES)
    blocks = re.findall(r"```python\n(.*?)```", text, re.S)
    assert len(blocks) >= 10
    # The one that the README says to save comes first.
    blocks.sort(key=lambda block: "class Closing" not in block)
    agents = ModuleType("agents")
    found: dict[str, Any] = {"apps": {}}
    add_key(Path("sayso.key"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "agents", agents)
        for block in blocks:
            names: dict[str, Any] = agents.__dict__ if block is blocks[0] else {"__name__": "page"}
            exec(block, names)  # noqa: S102 - our own page
            if "app" in names:
                found["apps"] = {agent.name: names["app"] for agent in names["app"].agents} | found[
                    "apps"
                ]
            found = {**names, **found}
    return found


def test_every_block_of_a_page_is_run_by_a_test() -> None:
    """A page with Python that no test runs would say what it likes."""
    tested = {*PAGES, "docs/testing.md", "docs/design.md"}  # of the design, a sketch
    apart = (
        "agent-framework", "langgraph", "mcp", "openai-agents", "pydantic-ai", "strands",
    )  # fmt: skip
    tested |= {f"docs/{name}.md" for name in apart}  # in tests/frameworks
    with_python = {str(path) for path in PROSE if "```py" in (ROOT / path).read_text("utf-8")}
    assert with_python <= tested
    assert all("```py\n" not in (ROOT / path).read_text("utf-8") for path in with_python)


async def test_the_example_of_the_python_client_answers_what_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Against the README's own agent."""
    monkeypatch.chdir(tmp_path)
    names = readme()
    app = names["apps"]["support"]
    transport = httpx.ASGITransport(app=app)
    async with app.lifespan(), httpx.AsyncClient(transport=transport) as http:
        # It says yes to all; what else is asked is refused before it is sent.
        with pytest.raises(InvalidPayload, match="close"):
            await names["refund"]("http://127.0.0.1:8000/agents/support", http=http)
    assert "TOOL_CALL_RESULT" in capsys.readouterr().out


async def test_the_example_asks_runs_and_closes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Copied as it stands: a refund is approved, then the ticket is closed."""
    monkeypatch.chdir(tmp_path)
    names = readme()
    async with names["app"].lifespan():
        client = Client(names["app"], "support")
        await client.say("refund A-17")
        asked = await client.resume(approve())
        assert [item["message"] for item in asked.interrupts] == ["Close the ticket?"]
        await client.resume(answer({"close": True}))
        assert client.model.messages[-1]["content"] == "Refunded 240.00 for order A-17. Closed."


async def test_the_example_tells_a_denial(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is not executed is said to be so, with the reason (H3, V3)."""
    monkeypatch.chdir(tmp_path)
    names = readme()
    async with names["app"].lifespan():
        client = Client(names["app"], "support")
        await client.say("refund A-17")
        await client.resume(deny("too late"))
        told = client.model.messages[-1]["content"]
        assert told.startswith("Not refunded. ")
        assert "denied" in told
        assert "too late" in told


async def test_the_example_of_a_step_speaks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A model call that streams: its text is in the history once."""
    monkeypatch.chdir(tmp_path)
    names = readme()
    async with names["apps"]["writer"].lifespan():
        client = Client(names["apps"]["writer"], "writer")
        await client.say("why")
        said = [m["content"] for m in client.model.messages if m["role"] == "assistant"]
        assert said == ["You asked: why"]


async def test_the_example_of_a_decision_tells_what_was_chosen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Design 3: the option with its consequence, in a sentence for a model."""
    monkeypatch.chdir(tmp_path)
    names = readme()
    async with names["apps"]["cleaner"].lifespan():
        client = Client(names["apps"]["cleaner"], "cleaner")
        await client.say("clean up")
        await client.resume(answer({"action": "proceed_scoped"}))
        told = client.model.messages[-1]["content"]
        assert "Only the temporary ones (proceed_scoped)" in told
        assert told.endswith("312 are gone, 535 stay.")


async def test_the_example_of_breakpoints_waits_where_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Design 3: after the step and the phase, before and after the deployment."""
    monkeypatch.chdir(tmp_path)
    names = readme()
    async with names["apps"]["release"].lifespan():
        client = Client(names["apps"]["release"], "release")
        await client.say("go")
        seen = []
        while client.model.pending:
            seen.append(client.model.pending[0]["message"])
            await client.resume(answer({"action": "continue"}))
        assert seen == [
            "Breakpoint after step 'compile'. Continue?",
            "Breakpoint after phase 'build'. Continue?",
            "Breakpoint before step 'deploy'. Continue?",
            "Breakpoint after step 'deploy'. Continue?",
        ]


async def test_the_example_is_mounted_in_another_app(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Below a prefix, started and stopped by the outer app's lifespan (design 6)."""
    monkeypatch.chdir(tmp_path)
    site = readme()["site"]
    async with site.router.lifespan_context(site):
        found = await Exchange(site, "GET", "/desk/agents/support").end()
        assert found.json["name"] == "support"


def test_the_example_of_a_policy_decides_as_its_lists_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """V6: denied, asked about, allowed, and what nobody has thought of."""
    monkeypatch.chdir(tmp_path)
    policy = readme()["policy"]
    verdicts = [
        policy.for_tool(tool, frozenset(arguments))
        .decide(approval.ProposedCall(tool=tool, arguments=arguments))
        .verdict
        for tool, arguments in (
            ("drop_table", {}),
            ("http_get", {"url": "http://a.internal/"}),
            ("send_email", {"to": "ann@example.com"}),
            ("send_email", {"to": "ann@elsewhere.com"}),
            ("sing", {}),
        )
    ]
    assert verdicts == ["deny", "deny", "allow", "ask", "ask"]


def test_the_example_of_a_test_passes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As it stands, over the README's own agents; no store is made."""
    monkeypatch.chdir(tmp_path)
    readme()["test_a_refund_is_paid_once_and_only_when_approved"]()
    assert [path.name for path in tmp_path.iterdir()] == ["sayso.key"]


@pytest.mark.parametrize("page", PROSE, ids=str)
def test_every_link_of_a_page_leads_somewhere(page: Path) -> None:
    """A file that is there, and a heading in it."""
    for target in re.findall(r"\]\(([^)\s]+)\)", (ROOT / page).read_text("utf-8")):
        if ":" in target:
            continue
        path, _, heading = target.partition("#")
        file = (ROOT / page.parent / path) if path else ROOT / page
        assert file.exists(), f"{page}: {target}"
        if heading:
            titles = re.findall(r"^#+ (.+)$", file.read_text("utf-8"), re.M)
            anchors = [re.sub(r"[^\w\- ]", "", title).lower().replace(" ", "-") for title in titles]
            assert heading in anchors, f"{page}: {target}"
