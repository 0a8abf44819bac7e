"""A real process that is killed in the middle of what a step says: nothing happens twice."""

from pathlib import Path

from tests import plain
from tests.patience import PATIENCE
from tests.process.replicas import Serving
from tests.server import interrupts, resolved, until

AGENTS = """
from pathlib import Path
import asyncio

from sayso import Sayso, ServerOptions, Turn

app = Sayso(store="memory:", server=ServerOptions(console=False, lease=1.0))


@app.agent("ops")
async def ops(turn: Turn) -> None:
    async def charge() -> str:
        with Path("effects").open("a") as effects:
            effects.write("charge\\n")
        async with turn.message() as message:
            await message.write("Charging")
            await asyncio.Event().wait()
        return "charged"

    await turn.say(await turn.step.options(name="charge")(charge))
"""


def test_a_step_that_is_killed_within_its_message_asks_and_does_not_run_again(
    tmp_path: Path,
) -> None:
    """B2: what it said made it durable that it had begun, and no more than that."""
    (tmp_path / "speaking.py").write_text(AGENTS)
    store = f"sqlite:///{tmp_path / 'kept.db'}"
    with Serving(tmp_path, "speaking:app", store=store) as server:
        with server.stream("t", text="go") as events:
            until("it speaks", lambda: next(events)["type"] == "TEXT_MESSAGE_CONTENT")
            server.kill()
        server.start()

        def asked() -> bool:
            listed = plain.get(f"{server.url}/interrupts", timeout=PATIENCE).json()
            return bool(listed["items"])

        until("another process has taken it over, and asks", asked)
        (item,) = interrupts(server.connect("t"))
        assert item["reason"] == "sayso:indeterminate"
        assert (tmp_path / "effects").read_text() == "charge\n"
        ended = server.run("t", resume=[resolved(item, {"action": "skip", "result": "charged"})])
        assert ended[-1]["outcome"] == {"type": "success"}
        assert (tmp_path / "effects").read_text() == "charge\n"
        (shown,) = [e for e in server.connect("t") if e["type"] == "MESSAGES_SNAPSHOT"]
        said = [m["content"] for m in shown["messages"] if m["role"] == "assistant"]
        assert said == ["charged"]
