"""What a sign-in is known by, and a provider that hangs."""

import asyncio
import json

import pytest

from sayso import Oidc
from sayso.base.errors import Problem
from sayso.http import jwt_verifier
from sayso.http.signin import attempts
from sayso.http.signin import provider as provider_module
from sayso.http.signin.provider import ProviderAway, SignInProvider

NOW = 1_800_000_000_000
KEY = "A" * 43
ISSUER = "https://id.example.org"


class Ticking:
    """Stands for `time` in a module: it goes on when the test says so."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        """The seconds that have gone by."""
        return self.now


@pytest.mark.parametrize(
    "sealed",
    [
        "a.b",
        "a.b.c.d.e",
        "a.x..Lw",
        f"a.{NOW // 1000}.x.Lw",
        f"a.{NOW // 1000}..gICA",
        f"a.{'9' * 500}..Lw",
    ],
)
def test_whoever_seals_a_state_by_a_key_of_their_own_has_begun_no_sign_in(sealed: str) -> None:
    """The key is in the browser: whatever it seals may be made up."""
    state = f"{sealed}.{attempts._mac(KEY, 'state', sealed)}"
    assert attempts.known_again(KEY, state, NOW) is None
    begun = attempts.begin(KEY, "/inbox", 5, NOW)
    assert attempts.known_again(KEY, begun.state, NOW) == begun


async def test_a_provider_that_hangs_is_waited_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also by all who come meanwhile; and by nobody while its description is known."""
    hangs, asked = asyncio.Event(), asyncio.Event()
    looks = 0
    ticking = Ticking()

    async def exchange(_: str, address: str, tls: object) -> tuple[int, bytes]:
        nonlocal looks
        looks += 1
        if looks == 1:
            await asyncio.sleep(0)  # the others come
            ticking.now += 2 * provider_module.PAUSE_S
            raise ProviderAway("it hangs")
        if looks == 3:
            asked.set()
            await hangs.wait()
        names = ("authorization_endpoint", "token_endpoint", "jwks_uri")
        return 200, json.dumps({"issuer": ISSUER, **dict.fromkeys(names, ISSUER)}).encode()

    monkeypatch.setattr(provider_module, "time", ticking)
    monkeypatch.setattr(provider_module, "_exchange", exchange)
    provider = SignInProvider(Oidc(ISSUER, "client"))
    attempt = attempts.begin(KEY, "/", None, NOW)

    async def address() -> str:
        return await provider.address(attempt, f"{ISSUER}/callback")

    found = await asyncio.gather(*(address() for _ in range(5)), return_exceptions=True)
    assert ([type(each) for each in found], looks) == ([ProviderAway] * 5, 1)
    ticking.now += provider_module.PAUSE_S
    known = await address()
    ticking.now += provider_module.FRESH_S
    for _ in range(3):
        assert known == await address()
    await asked.wait()
    assert (known, looks) == (await address(), 3)
    hangs.set()


async def test_keys_that_hang_are_waited_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Strangers with made-up keys do not wait one after the other, nor does anybody behind them."""
    looks = []
    ticking = Ticking()

    def fetched(address: str) -> bytes:
        looks.append(address)
        ticking.now += 2 * jwt_verifier.MIN_REFETCH_S
        raise OSError("it hangs")

    monkeypatch.setattr(jwt_verifier, "_fetched", fetched)
    monkeypatch.setattr(jwt_verifier, "time", ticking)
    keys = jwt_verifier._KeySet(f"{ISSUER}/keys")
    found = await asyncio.gather(*(keys.named("k") for _ in range(5)), return_exceptions=True)
    assert ([type(each) for each in found], len(looks)) == ([Problem] * 5, 1)
