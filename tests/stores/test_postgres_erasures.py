"""Where several erase contents of the trail, one waits for the other, and both are done."""

import asyncio
from pathlib import Path

import psycopg

from sayso.base.audit import NO_THREAD
from sayso.stores.postgres.store import PostgresStore
from tests.patience import PATIENCE
from tests.stores.backends import opened
from tests.stores.servers import database

_READ_ALONE = "LOCK TABLE sayso.audit IN SHARE MODE"
_WAITING = "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'sayso.audit'::regclass"


async def _waiting(looker: psycopg.AsyncConnection) -> int:
    row = await (await looker.execute(_WAITING)).fetchone()
    return 0 if row is None else int(row[0])


async def test_erasures_of_two_tenants_do_not_wait_in_a_circle(tmp_path: Path) -> None:
    """Both begin while nobody may write rows, and go on at once when that is over."""
    url = database(tmp_path)
    # So long that a circle is none that the server takes apart, and somebody tries again.
    patient = f"{url}{'&' if '?' in url else '?'}options=-c%20deadlock_timeout%3D1h"
    async with opened(PostgresStore(patient)) as one, opened(PostgresStore(patient)) as other:
        for scope, store in (("a", one), ("b", other)):
            await store.note(scope, [("said", {"by": "kay"})], 1)
        reader = await psycopg.AsyncConnection.connect(url)
        looker = await psycopg.AsyncConnection.connect(url, autocommit=True)
        try:
            await reader.execute(_READ_ALONE)
            erasures = [
                asyncio.create_task(store.erase_trail(scope, NO_THREAD, 1, 2, "kay"))
                for scope, store in (("a", one), ("b", other))
            ]
            async with asyncio.timeout(PATIENCE):
                while await _waiting(looker) < 2:
                    pass
                await reader.commit()
                await asyncio.gather(*erasures)
        finally:
            await reader.close()
            await looker.close()
        for scope in "ab":
            said, erased = (await one.audit(scope)).items
            assert (said.content, erased.kind) == (None, "erased")
