"""The command as tests call it."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from sayso.cli import main


@dataclass
class Told:
    """What the command said, and its exit code."""

    code: object
    out: str
    err: str


Sayso = Callable[..., Told]


@pytest.fixture
def sayso(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
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
