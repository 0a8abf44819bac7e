"""`tests.unwatched`, with pauses that a page sees on however slow a machine.

What takes no key draws in the pause between the words of a refusal and its question. How long that
is in fact, `tests/contract/test_copilotkit.py` knows; here it is as long as pages may need.
"""

from unittest.mock import patch

from sayso.cli import main as command
from sayso.engine.dialect import COPILOTKIT
from tests.unwatched import serve

PAUSE = 3.0
"""Seconds."""

if __name__ == "__main__":
    object.__setattr__(COPILOTKIT, "pause", PAUSE)  # all dialects that are looked up have this one
    with patch.object(command, "start", serve):
        command.main()
