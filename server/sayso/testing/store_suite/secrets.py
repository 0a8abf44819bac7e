"""Values that are kept apart: an encrypted store alone has them, for as long as their turn."""

from sayso.base.errors import Conflict, DeclarationError
from sayso.base.records import Commit, Update
from sayso.base.secretvalues import SecretValue
from sayso.stores.base import Store
from sayso.testing.clock import FakeClock
from sayso.testing.store_suite._make import (
    SCOPE,
    THREAD,
    ask,
    claim,
    question,
    raises,
    revision,
    run,
    same,
    turn,
)

_ONE = SecretValue(id="a" * 64, body=b'"hunter2"')
_TWO = SecretValue(id="b" * 64, body=b"[1]")
_THREE = SecretValue(id="c" * 64, body=b"null")


async def _update(store: Store, *values: SecretValue) -> None:
    before = await revision(store)
    await store.update_idle(
        Update(scope=SCOPE, thread_id=THREAD, revision=before, now=3_000, secrets=values)
    )


async def secrets_come_with_a_step_and_are_read_by_their_thread(
    store: Store, clock: FakeClock
) -> None:
    """Each id once; another thread, another scope has none. Without a codec nothing is written."""
    await ask(store, question("int_1"))
    if store.codec is None:
        before = await revision(store)
        await raises(DeclarationError, _update(store, _ONE))
        await raises(DeclarationError, store.claim(claim(before, secrets=(_ONE,))))
        same((await store.secrets(SCOPE, THREAD), await revision(store)), ((), before))
        lease = await store.claim(claim(before, run=run("run_2")))
        await raises(DeclarationError, store.commit(lease, Commit(now=3_000, secrets=(_ONE,))))
        return
    await _update(store, _TWO, _ONE)
    await _update(store, _ONE)
    same(await store.secrets(SCOPE, THREAD), (_ONE, _TWO))
    same(await store.secrets(SCOPE, "other"), ())
    same(await store.secrets("other", THREAD), ())
    lease = await store.claim(claim(await revision(store), run=run("run_2"), secrets=(_ONE,)))
    same(await store.secrets(SCOPE, THREAD), (_ONE, _TWO))
    await store.commit(lease, Commit(now=3_000, secrets=(_TWO, _THREE)))
    same(await store.secrets(SCOPE, THREAD), (_ONE, _TWO, _THREE))


async def secrets_end_with_the_journal_of_their_turn(store: Store, clock: FakeClock) -> None:
    """A new turn drops those before it and brings its own; so does what forgets the journal."""
    if store.codec is None:
        return
    await ask(store, question("int_1"))
    await _update(store, _ONE)
    before = await revision(store)
    second = turn("turn_2")
    lease = await store.claim(claim(before, turn=second, run=run("run_2"), secrets=(_TWO,)))
    same(await store.secrets(SCOPE, THREAD), (_TWO,))
    await store.commit(lease, Commit(now=3_000, forget="turn_1"))
    same(await store.secrets(SCOPE, THREAD), (_TWO,))
    await store.commit(lease, Commit(now=3_000, forget="turn_2"))
    same(await store.secrets(SCOPE, THREAD), ())
    await store.commit(lease, Commit(now=3_000, secrets=(_ONE,)))
    third = turn("turn_3")
    await store.commit(lease, Commit(now=3_000, secrets=(_TWO,), next_turn=third))
    same(await store.secrets(SCOPE, THREAD), ())


async def secrets_end_with_their_thread(store: Store, clock: FakeClock) -> None:
    """Whoever has the id next finds none; the key of the scope stays."""
    if store.codec is None:
        return
    await ask(store, question("int_1"))
    await _update(store, _ONE)
    key = await store.secret_key(SCOPE)
    await store.delete(SCOPE, THREAD, await revision(store), 3_000)
    same(await store.secrets(SCOPE, THREAD), ())
    same(await store.secret_key(SCOPE), key)


async def a_step_that_fails_keeps_no_secret(store: Store, clock: FakeClock) -> None:
    """Of a revision that is over."""
    if store.codec is None:
        return
    await ask(store, question("int_1"))
    late = Update(
        scope=SCOPE, thread_id=THREAD, revision=await revision(store) + 1, now=1, secrets=(_ONE,)
    )
    await raises(Conflict, store.update_idle(late))
    same(await store.secrets(SCOPE, THREAD), ())


async def a_scope_has_one_key_for_ever(store: Store, clock: FakeClock) -> None:
    """Random, of its own, and no secret of any thread; only under a codec."""
    if store.codec is None:
        await raises(DeclarationError, store.secret_key(SCOPE))
        return
    key = await store.secret_key(SCOPE)
    same((len(key), await store.secret_key(SCOPE)), (32, key))
    same(await store.secret_key("other") == key, False)
