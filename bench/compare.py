"""Run Sayso in the handed harness, beside its floors, in one invocation.

    python bench/compare.py HARNESS [--venvs DIR] -- --contender floor,sayso,floor --workload W1,W2

`HARNESS` is the folder with `run.py`, `benchlib.py` and `contenders/`; it is copied to a temporary
place, with our contender in it. `--venvs` is where its `setup.sh` made the floors' environments;
Sayso runs in the environment of this interpreter. The harness's own tables follow.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent


def main() -> int:
    """Copy, link, run, report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("harness", type=Path)
    parser.add_argument("--venvs", type=Path, default=Path("/tmp/bench-venvs"))  # noqa: S108 - its default
    parser.add_argument("rest", nargs="*")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        harness = Path(folder) / "harness"
        shutil.copytree(given.harness, harness, ignore=shutil.ignore_patterns("results*"))
        shutil.copytree(HERE / "contenders" / "sayso", harness / "contenders" / "sayso")
        venvs = Path(folder) / "venvs"
        venvs.mkdir()
        for made in given.venvs.iterdir():
            (venvs / made.name).symlink_to(made)
        (venvs / "sayso").symlink_to(sys.prefix)
        python = venvs / "floor" / "bin" / "python"
        out = harness / "results.jsonl"
        environment = {**os.environ, "BENCH_VENVS": str(venvs)}
        run = [str(python), "run.py", *given.rest, "--out", str(out)]
        # Our own words, and the harness that the caller named.
        code = subprocess.run(run, cwd=harness, env=environment, check=False).returncode  # noqa: S603
        if out.exists():
            report = [str(python), "report.py", str(out)]
            subprocess.run(report, cwd=harness, env=environment, check=False)  # noqa: S603 - likewise
        return code


if __name__ == "__main__":
    sys.exit(main())
