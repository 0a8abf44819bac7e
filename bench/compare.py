"""Sayso in the harness, beside its floors, in one invocation: the whole table or a part of it.

    python bench/compare.py HARNESS [--only W1,W2] [--rounds 2] [--seconds 2] [--venvs DIR]
    python bench/compare.py HARNESS --profile sqlite W2        # where the time goes, by py-spy
    python bench/compare.py HARNESS --redis --profile redis W2
    python bench/compare.py HARNESS --figures KEPT.jsonl       # the table of an earlier run

`HARNESS` is the folder with `run.py`, `benchlib.py` and `contenders/`; it is copied to a temporary
place, with our contenders in it. `--venvs` is where its `setup.sh` made the floors' environments;
Sayso runs in the environment of this interpreter. `--keep FILE` keeps the raw lines. With the URL
of an empty PostgreSQL database in `BENCH_PG` (the harness's `pg.sh start` prints one) W2 is
measured on that as well, and with `--redis` on a Redis of this program's own, which has each change
on the disk before it tells of it. Both have `floor-pg` beside them, so `--redis` wants `BENCH_PG`.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

import figures
from open import SAFE

from tests.stores.redis_servers import RedisServer

HERE = Path(__file__).resolve().parent
FLOORS = {
    "W1": "floor,floor-encode",
    "W1p": "floor-paced",
    "W2": "floor,floor:sqlite-full",
}
"""What each load is compared with; the plain floor unless named here."""
ALONE = {"W2r": "sayso:postgres", "W6": "sayso:sqlite,sayso:postgres"}
"""What has no floor: replicas against one, memory against itself. Both want `BENCH_PG`."""


@dataclass(frozen=True)
class Place:
    """A copy of the harness with our contenders in it."""

    folder: Path
    venvs: Path

    @property
    def python(self) -> str:
        """The interpreter of the floors."""
        return str(self.venvs / "floor" / "bin" / "python")

    def run(self, script: str, *words: str) -> int:
        """One of its scripts; its exit code."""
        environment = {**os.environ, "BENCH_VENVS": str(self.venvs)}
        command = [self.python, script, *words]
        # Our own words, and the harness that the caller named.
        return subprocess.run(command, cwd=self.folder, env=environment, check=False).returncode  # noqa: S603


@contextmanager
def placed(harness: Path, venvs: Path) -> Iterator[Place]:
    """Copy the harness, add what is ours."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made) / "harness"
        shutil.copytree(harness, folder, ignore=shutil.ignore_patterns("results*"))
        for contender in (HERE / "contenders").iterdir():
            shutil.copytree(contender, folder / "contenders" / contender.name)
        shutil.copy(HERE / "paced.py", folder)
        links = Path(made) / "venvs"
        links.mkdir()
        for one in venvs.iterdir():
            (links / one.name).symlink_to(one)
        (links / "sayso").symlink_to(sys.prefix)
        yield Place(folder, links)


def main() -> int:
    """Copy, run load by load, print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("harness", type=Path)
    parser.add_argument("--venvs", type=Path, default=Path("/tmp/bench-venvs"))  # noqa: S108 - its default
    parser.add_argument("--only", default="W1,W1p,W2,W3,W4,W5,W5s")
    parser.add_argument("--rounds", default="2")
    parser.add_argument("--seconds", default="2")
    parser.add_argument("--redis", action="store_true")
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--figures", type=Path)
    parser.add_argument("--profile", nargs=2, metavar=("STORE", "LOAD"))
    given = parser.parse_args()
    if given.figures:
        figures.report([given.figures])
        return 0
    if given.redis and not given.profile and "BENCH_PG" not in os.environ:
        parser.error("--redis measures against floor-pg: set BENCH_PG as well")
    if given.redis:
        os.environ["BENCH_REDIS"] = RedisServer(*SAFE).url
    with placed(given.harness, given.venvs) as place:
        if given.profile:
            store, load = given.profile
            return place.run("profile_peer.py", f"sayso:{store}", load)
        out = place.folder / "lines.jsonl"
        worst = 0
        for load in given.only.split(","):
            ours = "sayso" if load in ("W1", "W1p") else "sayso,sayso:sqlite"
            floors = FLOORS.get(load, "floor")
            if load == "W2" and "BENCH_PG" in os.environ:
                ours, floors = f"{ours},sayso:postgres", f"{floors},floor-pg"
                if given.redis:
                    ours = f"{ours},sayso:redis"
            # First and last, so that a machine that drifts does not favour anybody.
            contenders = f"{floors},{ours},{floors.partition(',')[0]}"
            contenders = ALONE.get(load, contenders)
            if given.redis and load in ALONE:
                contenders += ",sayso:redis"
            words = ["--contender", contenders, "--workload", load, "--rounds", given.rounds]
            code = place.run("paced.py", *words, "--seconds", given.seconds, "--out", str(out))
            worst = worst or code
        if out.exists():
            figures.report([out])
            if given.keep:
                shutil.copy(out, given.keep)
        return worst


if __name__ == "__main__":
    sys.exit(main())
