"""What the command makes of its options before anything is served."""

import sys
from pathlib import Path

import pytest

from sayso.cli import main
from sayso.demo.settings import DEFAULT_STORE, Settings, data_beside
from tests.demo.conftest import settings


def test_settings_reach_the_worker_as_they_are(tmp_path: Path) -> None:
    """One line between two processes."""
    given = settings(tmp_path, origins=("https://a.example",), hosts=("box", "[::1]"), again=True)
    line = given.to_json()
    assert b"\n" not in line
    assert Settings.from_json(line) == given


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("127.0.0.1", "http://127.0.0.1:8000"),
        ("localhost", "http://localhost:8000"),
        ("::1", "http://[::1]:8000"),
        ("0.0.0.0", "http://127.0.0.1:8000"),  # noqa: S104 - shown, not bound
        ("::", "http://[::1]:8000"),
    ],
)
def test_the_address_shown_is_one_that_a_browser_opens(tmp_path: Path, host: str, url: str) -> None:
    """All addresses are no address to go to."""
    assert settings(tmp_path, host=host).url == url


def test_a_stores_password_is_not_shown(tmp_path: Path) -> None:
    """Terminals are shared and recorded."""
    shown = settings(tmp_path, store="postgres://me:secret@db/sayso").shown_store
    assert shown == "postgres://…@db/sayso"


@pytest.mark.parametrize(
    ("store", "data"),
    [
        (DEFAULT_STORE, ".sayso/demo-data"),
        ("sqlite:///mine.db", "mine-data"),
        ("sqlite:////var/lib/shop.sqlite", "/var/lib/shop-data"),
        ("memory:", None),
    ],
)
def test_data_lie_beside_the_store(store: str, data: str | None) -> None:
    """Design 9: so that replicas of one store share them without being told."""
    assert data_beside(store) == (None if data is None else Path(data))


@pytest.mark.parametrize(
    ("terminal", "display", "opens"),
    [(True, ":0", True), (True, "", False), (False, ":0", False)],
)
def test_a_browser_is_opened_for_a_person_with_a_screen(
    monkeypatch: pytest.MonkeyPatch, terminal: bool, display: str, opens: bool
) -> None:
    """Not in scripts, not over a remote shell."""
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: terminal)
    monkeypatch.setenv("DISPLAY", display)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    assert main.has_browser() is opens
