"""Two processes that sign the trail of one store at once."""

import asyncio
import json
from collections import Counter
from pathlib import Path

import pytest

from sayso.base.audit import first_unchained
from sayso.base.records import PageRequest
from sayso.stores import open_store
from tests.contract.rest import call
from tests.contract.server import Client
from tests.contract.test_signatures import new_key
from tests.patience import PATIENCE
from tests.process.conftest import Sayso as Command
from tests.process.deaths import FORKS
from tests.process.signing import OWN, SCOPE, VOTERS, app_on, decide
from tests.stores.backends import SHARED, opened

SHARED_THREAD = "ours"


@pytest.mark.parametrize("kind", SHARED)
def test_two_processes_that_sign_at_once_make_one_chain_that_public_keys_verify(
    kind: str, tmp_path: Path, sayso: Command
) -> None:
    """The votes of both stand in one thread, each once; the command checks an export of all."""
    url, keys = SHARED[kind](tmp_path), tmp_path / "keys.pem"
    new_key(keys)

    async def ask() -> str:
        app = app_on(url, keys)
        async with app.lifespan():
            client = Client(app, "desk", thread=SHARED_THREAD, headers={"authorization": "ann"})
            (interrupt,) = (await client.say("wire")).interrupts
            public = await call(app, "GET", "/audit/keys", headers={"authorization": "ann"})
            (tmp_path / "keys.json").write_bytes(public.body)
            return str(interrupt["id"])

    asked = asyncio.run(ask())
    barrier = FORKS.Barrier(len(VOTERS))
    both = [
        FORKS.Process(target=decide, args=(me, url, str(keys), asked, barrier)) for me in VOTERS
    ]
    for process in both:
        process.start()
    for process in both:
        process.join(PATIENCE)
    assert [process.exitcode for process in both] == [0, 0]

    async def chains() -> dict[str, list[str]]:
        kinds = {}
        async with opened(open_store(url)) as store:
            own = [f"{me}-{n}" for me in VOTERS for n in range(OWN)]
            for thread in (SHARED_THREAD, *own):
                rows = (await store.audit(SCOPE, PageRequest(limit=200), thread_id=thread)).items
                assert first_unchained(SCOPE, rows) is None
                kinds[thread] = [row.kind for row in rows]
        return kinds

    shared = Counter(asyncio.run(chains())[SHARED_THREAD])
    voters = sum(map(len, VOTERS.values()))
    assert (shared["agreed"], shared["resolved"], shared["executed"]) == (voters - 1, 1, 1)
    assert sayso("audit", "--follow", "all.jsonl", "--once", "--store", url).code == 0
    checked = sayso("audit", "--verify", "keys.json", "--file", "all.jsonl", "--json")
    told = json.loads(checked.out)
    assert (checked.code, told["bad"]) == (0, []), checked
    assert told["words"].keys() == {"valid"}
