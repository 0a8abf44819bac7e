"""Texts under a codec: each opens at its own place, under its own key, or not at all."""

import sys
from pathlib import Path
from typing import Any

import pytest

from sayso import AesGcm, Conflict, DeclarationError, StoreUnavailable
from sayso.base.audit import first_unchained
from sayso.stores import open_store
from sayso.stores.aesgcm import add_key
from sayso.stores.sqlite.memory import MemoryStore
from sayso.testing.store_suite._make import SCOPE, THREAD, claim, question
from tests.stores.full_threads import NEW, OLD, SECRET, TEXTS, fill, read


def another(store: MemoryStore, codec: AesGcm | None) -> MemoryStore:
    """The same store as another process with these keys has it."""
    other = MemoryStore(codec=codec)
    store._runner._db.backup(other._runner._db)
    return other


async def filled(codec: AesGcm | None, *names: str) -> MemoryStore:
    """A store with threads of these names."""
    store = MemoryStore(codec=codec)
    await store.open()
    for name in names or (THREAD,):
        await fill(store, name)
    return store


@pytest.mark.parametrize(("table", "column"), [(t, c) for t, cs in TEXTS.items() for c in cs])
async def test_a_text_opens_in_its_own_thread_and_column_alone(table: str, column: str) -> None:
    """Rows that somebody exchanged, or copied into another column, are told of and never shown."""
    store = await filled(AesGcm({"1": OLD}), THREAD, "other")
    db, before = store._runner._db, await read(store)
    columns = ", ".join((column, *(other for other in TEXTS[table] if other != column)))
    query = f"SELECT rowid, {columns} FROM {table} ORDER BY rowid"  # noqa: S608 - our own names
    (first, own, *others), (_, foreign, *_) = db.execute(query).fetchall()
    moved = [foreign, *others]

    def put(text: Any) -> None:
        change = f"UPDATE {table} SET {column} = ? WHERE rowid = ?"  # noqa: S608 - our own names
        db.execute(change, (text, first))

    assert None not in moved
    for text in moved:
        put(text)
        with pytest.raises(StoreUnavailable, match="was changed or moved") as told:
            await read(store)
        assert THREAD in str(told.value)
        assert SECRET not in str(told.value)
    put(own)
    assert await read(store) == before


async def test_a_thread_or_approval_under_another_name_does_not_open() -> None:
    """Whoever may write rows cannot make one user's words another's, nor widen an approval."""
    store = await filled(AesGcm({"1": OLD}))
    db = store._runner._db
    db.execute("UPDATE approval SET thread_id = NULL")
    with pytest.raises(StoreUnavailable, match=r"approval\.pattern"):
        await store.approval(SCOPE, f"apr_{THREAD}")
    db.execute("UPDATE approval SET thread_id = ?, owner = 'eve'", (THREAD,))
    assert await store.valid_approvals(SCOPE, "eve", "send", 3) == ()
    db.execute("UPDATE thread SET id = 'mine'")
    with pytest.raises(StoreUnavailable, match=r"turn\.request"):
        await store.load(SCOPE, "mine")


async def test_all_keys_read_and_the_first_one_writes() -> None:
    """After a rotation old texts are read under the old key, new ones are written under the new."""
    old = await filled(AesGcm({"1": OLD}))
    store = another(old, AesGcm({"2": NEW, "1": OLD}))
    await store.open()
    assert await read(store) == await read(old)
    await fill(store, "later")
    with pytest.raises(StoreUnavailable, match="the key '2', which is not among the keys"):
        unaware = another(store, AesGcm({"1": OLD}))
        await unaware.open()
        await unaware.load(SCOPE, "later")


@pytest.mark.parametrize(
    ("codec", "told"),
    [
        (AesGcm({"2": NEW}), "the key '1', which is not among the keys of this process"),
        (AesGcm({"1": NEW}), "another key had that id"),
        (None, "this process has no key"),
    ],
    ids=["key missing", "another key under its id", "no codec"],
)
async def test_what_does_not_open_is_told_and_changes_nothing(
    codec: AesGcm | None, told: str
) -> None:
    """No way to a text gives an empty one, nor is one written over that was not read."""
    store = another(await filled(AesGcm({"1": OLD})), codec)
    await store.open()
    before = store._runner._db.serialize()
    for reading in (
        store.load(SCOPE, THREAD),
        store.interrupts(SCOPE),
        store.interrupt(SCOPE, f"int_{THREAD}"),
        store.approvals(SCOPE, 3),
    ):
        with pytest.raises(StoreUnavailable, match=told):
            await reading
    with pytest.raises((StoreUnavailable, Conflict)):
        await store.claim(claim(1, interrupts=(question(f"int_{THREAD}"),)))
    assert store._runner._db.serialize() == before


async def test_a_row_of_the_trail_that_does_not_open_is_broken_and_the_others_are_shown() -> None:
    """Its digests stand: what was encrypted is the content, and they seal it in clear."""
    codec = AesGcm({"1": OLD})
    store = await filled(codec)
    whole = (await store.audit(SCOPE, thread_id=THREAD)).items
    assert len(whole) >= 1
    assert first_unchained(SCOPE, whole) is None
    unaware = another(store, AesGcm({"2": NEW}))
    await unaware.open()
    rows = (await unaware.audit(SCOPE, thread_id=THREAD)).items
    assert [row.digest for row in rows] == [row.digest for row in whole]
    assert [row.content for row in rows] == [None] * len(whole)


async def test_clear_texts_are_read_only_while_that_is_said() -> None:
    """Whoever may write rows could otherwise put any text anywhere."""
    clear = await filled(None)
    changing = another(clear, AesGcm({"1": OLD}, accept_plain=True))
    await changing.open()
    assert await read(changing) == await read(clear)
    strict = another(clear, AesGcm({"1": OLD}))
    await strict.open()
    with pytest.raises(StoreUnavailable, match="is not encrypted; encrypt what was stored"):
        await strict.load(SCOPE, THREAD)


def test_equal_texts_are_not_seen_to_be_equal() -> None:
    """Nor are equal fingerprints, so nobody can tell that a call was made twice."""
    codec = AesGcm({"1": OLD})
    assert codec.seal(b"x", b"place") != codec.seal(b"x", b"place")


@pytest.mark.parametrize("keys", [{}, {"": OLD}, {"a b": OLD}, {"1": b"short"}, {1: OLD}, None])
def test_keys_that_cannot_be_used_are_refused(keys: Any) -> None:
    """When they are given, and without a word about what they are."""
    with pytest.raises(DeclarationError) as told:
        AesGcm(keys)
    assert "short" not in str(told.value)


def test_keys_do_not_show_themselves() -> None:
    """An app that is printed or logged betrays no key."""
    assert repr(AesGcm({"2": NEW, "1": OLD})) == "AesGcm(<keys 2, 1>)"


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The package that encrypts is not among those that every installation has."""
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.ciphers.aead", None)
    with pytest.raises(DeclarationError, match="the extra encryption"):
        AesGcm({"1": OLD})


def test_checkpoints_that_others_read_and_encryption_exclude_each_other() -> None:
    """One of them shows in clear what the other hides."""
    with pytest.raises(DeclarationError, match="checkpoints=shown"):
        open_store("redis://127.0.0.1:1/0?checkpoints=shown", codec=AesGcm({"1": OLD}))


def test_a_key_file_is_made_and_grows_by_the_command_alone(tmp_path: Path) -> None:
    """It is its owner's alone; a new key comes last, so that it does not write yet."""
    path = tmp_path / "sayso.key"
    with pytest.raises(DeclarationError, match=f"make one with: sayso key new {path}"):
        AesGcm.from_file(path)
    assert not path.exists()
    assert add_key(path) == "1"
    assert path.stat().st_mode & 0o777 == 0o600
    first = AesGcm.from_file(path)
    assert add_key(path) == "2"
    both = AesGcm.from_file(path)
    assert (first.ids, both.ids) == (("1",), ("1", "2"))
    assert both.open(first.seal(b"x", b"p"), b"p") == b"x"
    path.chmod(0o644)
    with pytest.raises(DeclarationError, match="chmod 600"):
        AesGcm.from_file(path)


@pytest.mark.parametrize("text", ["", "1", "1 !!!", "1 c2hvcnQ=", "# none\n"])
def test_a_file_that_holds_no_keys_is_refused(text: str, tmp_path: Path) -> None:
    """Its name and the line are told, never what stands there."""
    path = tmp_path / "sayso.key"
    path.write_text(text)
    path.chmod(0o600)
    with pytest.raises(DeclarationError) as told:
        AesGcm.from_file(path)
    assert str(path) in str(told.value)
    assert "c2hvcnQ" not in str(told.value)
