"""The shop's server of tools as a process of its own, over its standard input and output.

`python -m tests.frameworks.mcp.stdio FILE` notes its effects in that file.
"""

import os
import signal
import sys
from pathlib import Path

from tests.frameworks.mcp.shop import server_of


class Noted(list[str]):
    """Effects that outlive the process."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def append(self, effect: str) -> None:
        """Note one; the process dies of what is to burn."""
        with self._path.open("a") as file:
            file.write(f"{effect}\n")
        if effect.startswith("destroy A-99"):
            os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    server_of(Noted(Path(sys.argv[1]))).run("stdio")
