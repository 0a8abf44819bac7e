"""The command as tests call it."""

import logging
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from sayso.cli.main import main


@dataclass
class Told:
    """What the command said, and its exit code."""

    code: object
    out: str
    err: str


Sayso = Callable[..., Told]


@pytest.fixture
def log() -> Iterator[None]:
    """Give the log back: a command that serves takes it, and its stderr ends with the test."""
    root, names = logging.getLogger(), ("", "sayso.decisions", "uvicorn")
    handlers, levels = root.handlers[:], {name: logging.getLogger(name).level for name in names}
    yield
    root.handlers[:] = handlers
    for name, level in levels.items():
        logging.getLogger(name).setLevel(level)
    logging.captureWarnings(False)


@pytest.fixture
def sayso(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    log: None,
) -> Sayso:
    """The command, run to its end in an empty folder; only a server is a process of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")

    def run(*arguments: str) -> Told:
        monkeypatch.setattr(sys, "argv", ["sayso", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        said = capfd.readouterr()
        return Told(ended.value.code, said.out, said.err)

    return run
