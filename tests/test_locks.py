"""The locks: every package pinned and hashed, from nowhere in particular, all in agreement."""

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.sources import files_below

ROOT = Path(__file__).parents[1]
EVERYTHING = "requirements-dev.lock"
LOCKS = (EVERYTHING, "requirements.lock", "requirements-build.lock")
APART = {
    "requirements-agent-framework-client.lock": ("agent-framework-client",),
    "requirements-agent-framework.lock": ("frameworks", "agent-framework", "build"),
    "requirements-langgraph.lock": ("frameworks", "langgraph", "build"),
    "requirements-langgraph-oldest.lock": ("frameworks", "langgraph-oldest", "build"),
    "requirements-mcp.lock": ("frameworks", "mcp", "build"),
    "requirements-openai-agents.lock": ("frameworks", "openai-agents", "build"),
    "requirements-pydantic-ai.lock": ("frameworks", "pydantic-ai", "build"),
    "requirements-pydantic-ai-oldest.lock": ("frameworks", "pydantic-ai-oldest", "build"),
    "requirements-strands.lock": ("frameworks", "strands", "build"),
    "requirements-sbom.lock": ("sbom",),
    "requirements-uv.lock": ("uv",),
}
"""Of environments of their own, whose versions need not go together with the others, and the
groups of dependencies that each is made from."""
ENTRY = re.compile(r"^(?P<name>[a-z0-9][a-z0-9.-]*)==(?P<version>[^ ;]+)(?: ; .+?)?$")
NAME = re.compile(r"^[A-Za-z0-9._-]+")


def entries(lock: str) -> dict[str, str]:
    """Version by name, of every entry in a lock; an entry that is not pinned and hashed fails."""
    text = (ROOT / lock).read_text("utf-8").replace("\\\n", "")
    found = {}
    for line in filter(None, text.splitlines()):
        requirement, *hashes = re.split(r"\s+--hash=", line.strip())
        entry = ENTRY.match(requirement)
        assert entry, f"{lock}: not pinned: {requirement}"
        assert hashes, f"{lock}: without hashes: {requirement}"
        assert all(re.fullmatch(r"sha256:[0-9a-f]{64}", value) for value in hashes)
        found[entry["name"]] = entry["version"]
    return found


def project() -> dict[str, Any]:
    """What pyproject.toml says."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))


def name_of(requirement: str) -> str:
    """The package that a requirement asks for, as locks spell it."""
    match = NAME.match(requirement)
    assert match
    return re.sub(r"[._-]+", "-", match[0]).lower()


@pytest.mark.parametrize("lock", [*LOCKS, *APART])
def test_every_package_is_pinned_and_hashed(lock: str) -> None:
    """A fresh clone gets the same bytes, or none (design 10)."""
    assert entries(lock)


@pytest.mark.parametrize("lock", LOCKS)
def test_the_smaller_locks_are_parts_of_the_whole(lock: str) -> None:
    """Tests run on the very versions that the demo runs on."""
    assert entries(lock).items() <= entries(EVERYTHING).items()


def test_the_locks_hold_what_pyproject_asks_for() -> None:
    """A new dependency without `npm run pin` would be missing from a fresh clone."""
    asked = project()
    groups = asked["dependency-groups"]
    for lock, requirements in (
        ("requirements.lock", asked["project"]["dependencies"]),
        ("requirements-build.lock", groups["build"]),
        (EVERYTHING, groups["dev"]),
        *(
            (lock, [each for name in names for each in groups[name]])
            for lock, names in APART.items()
        ),
    ):
        missing = {name_of(requirement) for requirement in requirements} - set(entries(lock))
        assert not missing, f"{lock} lacks {missing}: npm run pin"


def test_the_build_backend_is_the_one_that_is_installed() -> None:
    """The editable install uses no isolation, so both places must name one version."""
    asked = project()
    (backend,) = asked["build-system"]["requires"]
    assert backend in asked["dependency-groups"]["build"]
    assert backend == f"hatchling=={entries('requirements-build.lock')['hatchling']}"


def test_the_web_lock_says_what_and_never_where() -> None:
    """Any mirror serves a fresh clone (design 10)."""
    packages = json.loads((ROOT / "package-lock.json").read_text("utf-8"))["packages"]
    for path, package in packages.items():
        assert package.get("link") or "resolved" not in package, path
        if path.startswith("node_modules/") and not package.get("link"):
            assert package.get("integrity", "").startswith("sha512-"), path


def test_npm_runs_no_script_of_a_package() -> None:
    """Installing is no reason to run what a stranger has written, wherever there is a lock."""
    folders = [path.parent for path in files_below(".") if path.name == "package-lock.json"]
    assert len(folders) >= 3
    for folder in folders:
        assert "ignore-scripts=true" in (folder / ".npmrc").read_text("utf-8").splitlines()
