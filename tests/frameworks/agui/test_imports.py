"""The protocol's SDK is loaded by who mounts an agent that is written with it, and not before."""

import subprocess
import sys

import pytest

MOUNTS = {
    "from sayso import agui": set(),
    "agui.mount_remote(app, 'far', 'https://far.example/agent')": {"httpx"},
    "agui.mount_events(app, 'near', lambda given: None)": {"httpx", "ag_ui"},
}
"""Lines of a program, each with what has been loaded behind it."""


@pytest.mark.parametrize("lines", range(1, len(MOUNTS) + 1))
def test_the_sdk_is_loaded_when_it_is_needed(lines: int) -> None:
    program = [
        "import sys",
        "from sayso import Sayso",
        "app = Sayso(store='memory:')",
        *list(MOUNTS)[:lines],
        "print(*{'ag_ui', 'httpx'} & {*sys.modules})",
    ]
    printed = subprocess.run(  # noqa: S603 - our own package
        [sys.executable, "-c", "\n".join(program)], capture_output=True, check=True, text=True
    )
    assert {*printed.stdout.split()} == list(MOUNTS.values())[lines - 1]


def test_agents_of_this_process_and_files_of_agents_need_no_client() -> None:
    """Who has not installed the extra is told so by what needs it, in one line."""
    program = """
import sys
sys.modules["httpx"] = None
import sayso.ops.agentfile
from sayso import DeclarationError, Sayso, agui
app = Sayso(store="memory:")
agui.mount_events(app, "near", lambda given: None)
try:
    agui.mount_remote(app, "far", "https://far.example/agent")
except DeclarationError as error:
    print(error)
"""
    printed = subprocess.run(  # noqa: S603 - our own package
        [sys.executable, "-c", program], capture_output=True, check=True, text=True
    )
    assert printed.stdout.startswith("a remote agent needs httpx: install sayso with the extra")
