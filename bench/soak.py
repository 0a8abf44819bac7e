"""Replicas that are killed, stopped and cut off while people approve: nothing twice, nothing lost.

Run it as `python bench/soak.py [--minutes 10] [--seed N] [--store URL]`: two `sayso demo` processes
behind a round-robin proxy, on SQLite in a temporary folder, on the store of that URL (an empty
database), or with `--store postgres` or `--store redis` on a server of its own. Ends with exit code
1 if an effect happened twice or was lost, or a turn never came to its end.
"""

import argparse
import random
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.process.soak import Soak
from tests.stores.redis_servers import SHARED


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
        store = f"sqlite:///{folder / 'soak.db'}" if given.store == "sqlite" else given.store
        if given.store in SHARED:
            store = SHARED[given.store](folder)
        soak = Soak(store, folder, seed=given.seed)
        tell(f"--minutes {given.minutes:g} --seed {given.seed} --store {given.store}")
        began = time.monotonic()
        soak.run(given.minutes * 60)
        faults = soak.faults()
        done = sum(sum(kinds.values()) for kinds in soak.effects().values())
        tell(f"{len(soak.said)} turns, {done} effects, {time.monotonic() - began:.0f} s")
        for what, count in sorted(soak.happened.items()):
            tell(f"{count:>7} {what}")
        for fault in faults:
            tell(f"FAULT {fault}")
        tell("nothing twice, nothing lost" if not faults else f"{len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
