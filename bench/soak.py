"""Replicas that are killed, stopped and cut off while people approve: nothing twice, nothing lost.

Run it as `python bench/soak.py [--minutes 10] [--seed N] [--store URL]`: two `sayso demo` processes
behind a round-robin proxy, on SQLite in a temporary folder, on a server of its own with `--store
postgres` or `redis`, or on the store of that URL (an empty database). Ends with exit code 1 if an
effect happened twice or was lost, or a turn never came to its end.
"""

import argparse
import random
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.process.soak import Soak
from tests.stores.backends import SHARED


def tell(line: str) -> None:
    """A line at once, also into a pipe."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> int:
    """Run the soak and tell what came of it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000))  # noqa: S311
    parser.add_argument("--store", default="sqlite")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="sayso-soak-") as name:
        folder = Path(name)
        store = SHARED[given.store](folder) if given.store in SHARED else given.store
        soak = Soak(store, folder, seed=given.seed)
        tell(f"--minutes {given.minutes:g} --seed {given.seed} --store {given.store}")
        began = time.monotonic()
        soak.run(given.minutes * 60)
        faults = soak.faults()
        lasted = time.monotonic() - began
        tell(f"{len(soak.people)} turns, {soak.effects()} effects, {lasted:.0f} s")
        for what, count in sorted(soak.happened.items()):
            tell(f"{count:>7} {what}")
        for fault in faults:
            tell(f"FAULT {fault}")
        tell("nothing twice, nothing lost" if not faults else f"{len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
