"""`sayso demo` in one process, which nobody starts again: as the command does it on Windows."""

import socket
from typing import NoReturn
from unittest.mock import patch

from sayso.cli import main as command
from sayso.demo.settings import Settings
from sayso.demo.worker import work
from sayso.ops.supervisor import exit_now


def serve(settings: Settings, sock: socket.socket) -> NoReturn:
    """Serve until stopped, and end with it."""
    exit_now(work(settings, sock))


if __name__ == "__main__":
    with patch.object(command, "start", serve):
        command.main()
