"""Ask for a line, and be interrupted as if it came just before the wait for it."""

import _thread
import sys
from pathlib import Path
from threading import Thread

from sayso.cli.chat.terminal import Terminal

if __name__ == "__main__":
    told = Path(sys.argv[1])

    def interrupt() -> None:
        told.read_bytes()
        # The signal is noted, and no call that waits is interrupted by it.
        _thread.interrupt_main()

    Thread(target=interrupt, daemon=True).start()
    try:
        Terminal().ask("Name?")
    except KeyboardInterrupt:
        sys.exit(130)
