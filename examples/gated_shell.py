"""A shell command runs once a person has read it, and not otherwise.

    cd examples && sayso serve gated_shell:app

Reading is free, everything else is asked for, and what nobody should approve by mistake is refused
by rule. The reviewer may change the command: what then runs is what they wrote, and the agent is
told so. `str(call)` is always the truth about what happened, fit for a model.
"""

import shlex
import subprocess

from sayso import Sayso, Turn, approval

app = Sayso(store="sqlite:///gated_shell.db")

READING = {"ls", "cat", "pwd", "date", "echo"}


def only_reads(command: str) -> bool:
    """Whether a command changes nothing: one of a few programs, and no shell syntax."""
    words = shlex.split(command)
    return bool(words) and words[0] in READING and not set(command) & set(";|&<>$`\n")


rule = approval.Policy(
    deny=[approval.calls("shell", lambda command: command.lstrip().startswith("sudo"))],
    allow=[approval.calls("shell", only_reads)],
    otherwise="ask",
)


@app.tool(approval=rule, editable=True, timeout=30.0)
def shell(command: str) -> str:
    """Run a command and return what it printed."""
    done = subprocess.run(["/bin/sh", "-c", command], capture_output=True, text=True, check=False)  # noqa: S603
    return (done.stdout + done.stderr).strip() or f"exit code {done.returncode}"


@app.agent("operator")
async def operator(turn: Turn) -> None:
    """Runs what it is told, where a model would come up with the command."""
    call = await turn.call(shell, command=turn.input.text)
    if call.denied:  # by a person, with a reason, or by the rule
        await turn.say(f"I leave it. {call}")
    else:
        await turn.say(str(call))
