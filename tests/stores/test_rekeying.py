"""Another key for all that is stored, beside whoever uses it, and whenever it was ended."""

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from sayso import AesGcm, DeclarationError, StoreUnavailable
from sayso.base.audit import first_broken
from sayso.base.records import Commit
from sayso.cli.main import app as command
from sayso.stores import open_store
from sayso.stores.aesgcm import add_key
from sayso.stores.base import Store
from sayso.stores.rekeying import Rekeyed, Rekeying
from sayso.testing.store_suite._make import SCOPE, claim, message, run, turn
from tests.contract.dump import dump
from tests.stores.backends import SHARED, opened
from tests.stores.full_threads import NEW, OLD, SECRET, fill, read

BEFORE = AesGcm({"1": OLD})
BETWEEN = AesGcm({"2": NEW, "1": OLD})
AFTER = AesGcm({"2": NEW})
THREADS = ("thread", "other")

on_every_store = pytest.mark.parametrize("kind", SHARED)


def stored(kind: str, folder: Path, codec: AesGcm | None) -> Store:
    """The store of a folder, as a process with these keys opens it."""
    return open_store(SHARED[kind](folder), codec=codec)


async def rekeyed(store: Store, **options: Any) -> Rekeyed:
    """All batches, from the first to the last."""
    done = Rekeyed()
    while True:
        done.add(await store.rekey(done.next, **options))
        if done.next is None:
            return done


async def filled(kind: str, folder: Path, codec: AesGcm | None) -> list[Any]:
    """Begin threads; all that there is to read of them, and of their trails."""
    async with opened(stored(kind, folder, codec)) as store:
        for name in THREADS:
            await fill(store, name)
    return await everything(kind, folder, codec)


async def everything(kind: str, folder: Path, codec: AesGcm | None) -> list[Any]:
    """All that a process with these keys reads."""
    async with opened(stored(kind, folder, codec)) as store:
        texts = [text for name in THREADS for text in await read(store, name)]
        rows = [(await store.audit(SCOPE, thread_id=name)).items for name in THREADS]
        assert [first_broken(SCOPE, of_thread) for of_thread in rows] == [None] * len(THREADS)
        return [*texts, rows, await store.usage(SCOPE) if kind == "redis" else None]


@on_every_store
async def test_afterwards_the_new_key_opens_everything(kind: str, tmp_path: Path) -> None:
    """Rows of the trail have the digests that they had, and the old key can be thrown away."""
    before = await filled(kind, tmp_path, BEFORE)
    async with opened(stored(kind, tmp_path, BETWEEN)) as store:
        assert set((await rekeyed(store, look=True)).under) == {"1"}
        done = await rekeyed(store)
        assert (done.broken, set(done.under)) == ([], {"2"})
        assert done.encrypted == sum(done.under.values()) > 2 * 15
        assert (await rekeyed(store, look=True)).under == done.under
        assert (await rekeyed(store)).encrypted == 0
    assert await everything(kind, tmp_path, AFTER) == before


@on_every_store
async def test_what_was_stored_in_clear_is_encrypted_when_that_is_said(
    kind: str, tmp_path: Path
) -> None:
    """Else it is told of: somebody could have put it there after all was encrypted."""
    before = await filled(kind, tmp_path, None)
    async with opened(stored(kind, tmp_path, AFTER)) as store:
        refused = await rekeyed(store)
        assert (refused.encrypted, set(refused.under)) == (0, {""})
        assert "is not encrypted" in refused.broken[0]
        done = await rekeyed(store, accept_plain=True)
        assert (done.broken, set(done.under)) == ([], {"2"})
        texts = dump(store, tmp_path).lower()
    assert SECRET not in texts
    assert SECRET.encode().hex() not in texts
    assert (await everything(kind, tmp_path, AFTER))[:-1] == before[:-1]


@on_every_store
async def test_a_text_that_does_not_open_stops_no_other(kind: str, tmp_path: Path) -> None:
    """It is named, with its place, and stays as it is."""
    await filled(kind, tmp_path, AesGcm({"0": b"0" * 32}))
    async with opened(stored(kind, tmp_path, BETWEEN)) as store:
        await fill(store, "later")
        done = await rekeyed(store)
        assert set(done.under) == {"0", "2"}
        assert done.encrypted == 0
        assert len(done.broken) == done.under["0"]
        assert any("message.body of 'm_thread' in thread 'thread'" in why for why in done.broken)
        assert all("the key '0', which is not among" in why for why in done.broken)


@pytest.mark.parametrize("batches", range(1, 4))
@on_every_store
async def test_ended_after_any_batch_it_goes_on_from_the_beginning(
    kind: str, batches: int, tmp_path: Path
) -> None:
    """What is under the new key by then is passed over, and all is read under both meanwhile."""
    before = await filled(kind, tmp_path, BEFORE)
    async with opened(stored(kind, tmp_path, BETWEEN)) as store:
        done = Rekeyed()
        for _ in range(batches):
            done.add(await store.rekey(done.next))
            if done.next is None:
                break
    assert await everything(kind, tmp_path, BETWEEN) == before
    async with opened(stored(kind, tmp_path, BETWEEN)) as store:
        rest = await rekeyed(store)
        assert set(rest.under) == {"2"}
        assert done.encrypted + rest.encrypted == sum(rest.under.values())
    assert await everything(kind, tmp_path, AFTER) == before


@pytest.mark.parametrize("texts", [0, 1, 7, 20])
@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
async def test_a_batch_that_dies_has_done_nothing(
    kind: str, texts: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many of its texts were encrypted: a transaction is whole or did not happen."""
    before = await filled(kind, tmp_path, BEFORE)
    renewed = Rekeying._text
    left = texts

    def dies(*arguments: Any) -> Any:
        nonlocal left
        left -= 1
        if left < 0:
            raise StoreUnavailable("died")
        return renewed(*arguments)

    async with opened(stored(kind, tmp_path, BETWEEN)) as store:
        with monkeypatch.context() as patch:
            patch.setattr(Rekeying, "_text", dies)
            with pytest.raises(StoreUnavailable, match="died"):
                await rekeyed(store)
        assert set((await rekeyed(store, look=True)).under) == {"1"}
    assert await everything(kind, tmp_path, BEFORE) == before


@on_every_store
async def test_two_at_once_and_a_conversation_lose_nothing(kind: str, tmp_path: Path) -> None:
    """A text that somebody writes meanwhile is never replaced by what was read before."""
    await filled(kind, tmp_path, BEFORE)
    bodies = [b'{"said":%d}' % number for number in range(30)]

    async def converse(store: Store) -> None:
        name = "talk"
        lease = await store.claim(
            claim(
                thread_id=name,
                turn=turn("turn_talk"),
                run=run("run_talk", turn_key="turn_talk"),
                messages=(message("m", body=b"{}"),),
            )
        )
        for body in bodies:
            await store.commit(
                lease, Commit(now=1, messages=(message("m", body=body),), state=body)
            )
            view = await store.load(SCOPE, name)
            assert view is not None
            assert (view.messages[0].body, view.thread.state) == (body, body)

    async with (
        opened(stored(kind, tmp_path, BETWEEN)) as one,
        opened(stored(kind, tmp_path, BETWEEN)) as two,
        opened(stored(kind, tmp_path, AesGcm({"1": OLD, "2": NEW}))) as talking,
    ):
        conversation = asyncio.create_task(converse(talking))
        while not conversation.done():
            for done in await asyncio.gather(rekeyed(one), rekeyed(two)):
                assert done.broken == []
        await conversation
        await rekeyed(one)
        assert set((await rekeyed(two, look=True)).under) == {"2"}
    async with opened(stored(kind, tmp_path, AFTER)) as store:
        view = await store.load(SCOPE, "talk")
        assert view is not None
        assert view.thread.state == bodies[-1]


async def test_the_trail_is_append_only_afterwards_as_before(tmp_path: Path) -> None:
    """The triggers are there again, whether or not anything was written."""
    await filled("sqlite", tmp_path, BEFORE)
    async with opened(stored("sqlite", tmp_path, BETWEEN)) as store:
        await rekeyed(store)
    with (
        closing(sqlite3.connect(tmp_path / "sayso.db")) as db,
        pytest.raises(sqlite3.IntegrityError, match="never changed"),
    ):
        db.execute("UPDATE audit SET content = x'00'")


async def test_a_store_without_keys_has_nothing_to_write_anew(tmp_path: Path) -> None:
    """It says what it lacks."""
    async with opened(stored("sqlite", tmp_path, None)) as store:
        with pytest.raises(DeclarationError, match="give it a codec"):
            await store.rekey()


def test_the_command_encrypts_tells_how_many_and_what_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """From a clear store to an encrypted one, and on to a new key, without another tool."""
    monkeypatch.chdir(tmp_path)
    asyncio.run(filled("sqlite", tmp_path, None))
    keys = tmp_path / "sayso.key"
    options = ("rekey", "--store", "sqlite:///sayso.db", "--key-file", str(keys))

    def said(*more: str) -> tuple[int, str, str]:
        code = command([*options, *more], standalone_mode=False)
        told = capsys.readouterr()
        return code or 0, told.out, told.err

    assert command(["key", "new", str(keys)], standalone_mode=False) is None
    capsys.readouterr()
    code, out, err = said()
    assert (code, "texts are not encrypted" in out) == (1, True)
    assert "NOT OPENED" in err
    code, out, _ = said("--encrypt")
    assert code == 0
    assert "texts are under key '1'." in out
    add_key(keys)
    first, second = keys.read_text().splitlines()
    keys.write_text(f"{second}\n{first}\n")
    code, out, _ = said("--check")
    assert (code, "texts are under key '1'." in out) == (1, True)
    code, out, _ = said()
    assert code == 0
    assert "texts are under key '2'." in out
    assert "'1'" not in out
