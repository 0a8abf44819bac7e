"""`sayso seal`: the audit trail, held by a key that the store does not have (design 7)."""

import json
from pathlib import Path

import pytest

from sayso.base.audit import GENESIS, chained
from tests.process.conftest import Sayso, Told
from tests.process.test_threads_command import began
from tests.tampering import tampered

SECRET = "k" * 32


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with a key, and the store to look at."""
    (tmp_path / "key").write_text(SECRET + "\n")
    monkeypatch.setenv("SAYSO_STORE", f"sqlite:///{tmp_path / 'desk.db'}")
    monkeypatch.setenv("SAYSO_SEAL_KEY_FILE", str(tmp_path / "key"))
    return tmp_path


def run(sayso: Sayso, folder: Path, *options: str) -> Told:
    return sayso("seal", str(folder / "seals.jsonl"), *options)


def test_what_is_new_is_sealed_and_stands(sayso: Sayso, folder: Path) -> None:
    """A seal for what came since the one before, none for nothing."""
    began(folder, "a", "b")
    assert "Seal 1 holds what is new. Threads: 2." in run(sayso, folder).out
    assert "Nothing is new" in run(sayso, folder).out
    began(folder, "c")
    assert json.loads(run(sayso, folder, "--json").out) == {"seals": 2, "threads": 1}
    lines = (folder / "seals.jsonl").read_text().splitlines()
    heads = [[head["threadId"] for head in json.loads(line)["heads"]] for line in lines]
    assert (sorted(heads[0]), heads[1]) == (["a", "b"], ["c"])
    checked = run(sayso, folder, "--check")
    assert (checked.code, "Seals: 2, threads: 3" in checked.out) == (0, True)


def test_what_goes_on_in_a_thread_is_sealed_again(sayso: Sayso, folder: Path) -> None:
    """Its newer head, and both are held against the trail."""
    began(folder, "a")
    run(sayso, folder)
    assert sayso("stop", "a").code == 0
    assert "The run was stopped. By " in sayso("audit", "a").out
    assert "Seal 2 holds what is new. Threads: 1." in run(sayso, folder).out
    assert run(sayso, folder, "--check").code == 0


def test_who_computes_a_whole_chain_anew_is_found_out(sayso: Sayso, folder: Path) -> None:
    """The thread's own digests fit each other again; what was sealed does not."""
    began(folder, "a", "b")
    run(sayso, folder)
    with tampered(folder / "desk.db") as db:
        (owner,) = db.execute("SELECT DISTINCT owner FROM audit WHERE thread_id = 'a'").fetchone()
        rows = db.execute(
            "SELECT number, at, kind, content, salt FROM audit"
            " WHERE thread_id = 'a' ORDER BY number"
        ).fetchall()
        digest, whose = GENESIS, ("default", "a", str(owner))
        for number, at, kind, content, salt in rows:
            forged = content.replace(b"Pay", b"Eat")
            inner, digest = chained(whose, digest, number, at, kind, forged, salt)
            db.execute(
                "UPDATE audit SET content = ?, content_digest = ?, digest = ?"
                " WHERE thread_id = 'a' AND number = ?",
                (forged, inner, digest, number),
            )
        db.execute("UPDATE interrupt SET message = replace(message, 'Pay', 'Eat')")
    assert "intact" in sayso("audit", "a").out
    checked = run(sayso, folder, "--check", "--json")
    assert checked.code == 1
    told = json.loads(checked.out)
    assert (told["intact"], [one["threadId"] for one in told["broken"]]) == (False, ["a"])


def test_rows_that_are_gone_are_missed(sayso: Sayso, folder: Path) -> None:
    """Also all of a thread."""
    began(folder, "a", "b")
    run(sayso, folder)
    with tampered(folder / "desk.db") as db:
        db.execute("DELETE FROM audit WHERE thread_id = 'b'")
    checked = run(sayso, folder, "--check")
    assert checked.code == 1
    assert "BROKEN: thread b at row" in checked.out


@pytest.mark.parametrize(
    "change",
    [
        lambda lines: lines[1:],
        lambda lines: [lines[1], lines[0]],
        lambda lines: [lines[0].replace('"threadId":"a"', '"threadId":"z"'), lines[1]],
        lambda lines: [lines[0], lines[1], "no seal"],
    ],
    ids=["one is missing", "another order", "another thread", "something else"],
)
def test_seals_that_were_changed_are_found_out(sayso: Sayso, folder: Path, change: object) -> None:
    """And none is added behind them."""
    began(folder, "a")
    run(sayso, folder)
    began(folder, "b")
    run(sayso, folder)
    file = folder / "seals.jsonl"
    assert callable(change)
    text = "".join(f"{line}\n" for line in change(file.read_text().splitlines()))
    file.write_text(text)
    began(folder, "c")
    for options in ((), ("--check",)):
        told = run(sayso, folder, *options)
        assert (told.code, told.out.startswith("BROKEN: line")) == (1, True)
    assert file.read_text() == text


def test_another_key_makes_no_seal_that_counts(sayso: Sayso, folder: Path) -> None:
    """Who can write the file, but has not the key."""
    began(folder, "a")
    run(sayso, folder)
    (folder / "key").write_text("z" * 32)
    assert run(sayso, folder, "--check").code == 1


def test_a_seal_that_was_cut_off_is_made_again(sayso: Sayso, folder: Path) -> None:
    """Killed in the middle of its line: it was never finished."""
    began(folder, "a")
    run(sayso, folder)
    file = folder / "seals.jsonl"
    whole = file.read_text()
    began(folder, "b")
    run(sayso, folder)
    file.write_text(file.read_text()[:-20])
    assert run(sayso, folder, "--check").code == 0
    assert "Seal 2 holds what is new. Threads: 1." in run(sayso, folder).out
    assert file.read_text().startswith(whole)
    assert run(sayso, folder, "--check").code == 0


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--check"], "there are no seals"),
        (["--key-file", "short"], "openssl rand -hex 32"),
        (["--key-file", "none"], "cannot be read"),
    ],
)
def test_what_is_wrong_is_said_with_what_to_do(
    sayso: Sayso,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    options: list[str],
    told: str,
) -> None:
    """In one line, with exit code 2, and nothing is made."""
    monkeypatch.chdir(folder)
    (folder / "short").write_text("short")
    said = run(sayso, folder, *options)
    assert (said.code, said.err.count("\n")) == (2, 1)
    assert told in said.err
    assert not (folder / "seals.jsonl").exists()


def test_seals_of_another_scope_are_left_alone(sayso: Sayso, folder: Path) -> None:
    """One file for each."""
    began(folder, "a")
    run(sayso, folder)
    said = run(sayso, folder, "--scope", "other")
    assert (said.code, "name another file" in said.err) == (2, True)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE audit SET owner = 'mallory'",
        "UPDATE audit SET content = NULL",
        "UPDATE audit SET content = '{}' WHERE number = 1",
        "UPDATE audit SET at = 'noon' WHERE number = 1",
        "UPDATE audit SET kind = 'resolved' WHERE number = 2",
        (
            "UPDATE audit SET thread_id = CASE thread_id WHEN 'a' THEN 'x' ELSE thread_id END;"
            "UPDATE audit SET thread_id = 'a' WHERE thread_id = 'b';"
            "UPDATE audit SET thread_id = 'b' WHERE thread_id = 'x'"
        ),
        "UPDATE interrupt SET decided_by = 'eve'",
        "UPDATE interrupt SET payload = CAST('{\"approved\":false}' AS BLOB)",
        "UPDATE interrupt SET status = 'resolved'",
        "UPDATE interrupt SET message = 'Pay nothing?'",
        "UPDATE interrupt SET metadata = CAST('{}' AS BLOB)",
        "UPDATE interrupt SET response_schema = CAST('{}' AS BLOB)",
        "UPDATE interrupt SET expires_at = 4102444800000",
        "DELETE FROM asked; DELETE FROM interrupt",
        "UPDATE person SET name = name || 'y'",
        "UPDATE person SET salt = CAST('0123456789abcdef' AS BLOB)",
        "UPDATE audit SET salt = NULL",
        "UPDATE audit SET salt = 'text' WHERE number = 2",
        "UPDATE audit SET content_digest = 'x' WHERE number = 1",
        "UPDATE audit SET number = 9 WHERE number = 2",
    ],
)
def test_what_somebody_who_may_write_the_file_says_is_told(
    sayso: Sayso, folder: Path, statement: str
) -> None:
    """By `sayso audit` and by `sayso seal --check`, without a traceback."""
    began(folder, "a", "b")
    for thread in ("a", "b"):
        assert sayso("stop", thread).code == 0
    run(sayso, folder)
    assert (sayso("audit", "a").code, run(sayso, folder, "--check").code) == (0, 0)
    with tampered(folder / "desk.db") as db:
        db.executescript(statement)
    told = sayso("audit", "a")
    assert (told.code, "BROKEN" in told.out or "DIFFERS" in told.out) == (1, True), told.out
    assert "Traceback" not in told.err
    as_json = json.loads(sayso("audit", "a", "--json").out)
    assert not as_json["intact"] or as_json["differs"]
    checked = run(sayso, folder, "--check")
    assert (checked.code, "BROKEN" in checked.out or "DIFFERS" in checked.out) == (1, True)
    as_json = json.loads(run(sayso, folder, "--check", "--json").out)
    assert not as_json["intact"] or as_json["differs"]
    assert "Traceback" not in checked.err
