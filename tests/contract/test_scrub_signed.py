"""Patterns of `Scrub` that change while a signed answer is held: it still counts as signed."""

from pathlib import Path
from typing import Any

import pytest

from sayso import Ed25519, Principal, Scrub
from tests.contract.rest import at_rest
from tests.contract.server import approve, deny, served
from tests.contract.test_approvers import PEOPLE, authenticate, says
from tests.contract.test_signatures import new_key, rows_of, twice, verdicts
from tests.tampering import tampered


@pytest.mark.parametrize("forged", [False, True])
async def test_a_held_answer_stays_signed_under_other_patterns(
    forged: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is signed again for the texts that its row has, unless somebody has changed it since."""
    monkeypatch.setitem(PEOPLE, "aud", Principal(subject="aud", roles=("auditor",)))
    new_key(tmp_path / "keys.pem")
    signer = Ed25519.from_file(tmp_path / "keys.pem")
    options: dict[str, Any] = {"authenticate": authenticate, "signer": signer}
    scrub = Scrub(["secret-[0-9]+"])
    async with served("sqlite", tmp_path, scrub=scrub, **options) as server:
        client = twice(server)
        first, second = (await client.say()).interrupts
        said = deny("secret-17, and hidden-4")
        assert (await says(server, "ann", first, said)).status == 202
        scrub._own = Scrub(["hidden-[0-9]+"])._own  # as after a restart
        if forged:
            with tampered(tmp_path / "sayso.db") as db:
                db.execute(
                    "UPDATE interrupt SET held ="
                    " replace(CAST(held AS TEXT), 'secret-17, and', 'secret-17 or')"
                )
        assert (await says(server, "ann", second, approve())).status == 200
        await at_rest(server, client)
        told = verdicts(await rows_of(server, client))
        assert told["held"] == ["ann valid"]
        assert sorted(told["resolved"]) == sorted(
            ["ann invalid" if forged else "ann valid", "ann valid"]
        )
