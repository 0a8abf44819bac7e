"""Stores over TLS, with a certificate that is checked or is not."""

from pathlib import Path
from urllib.parse import urlsplit

import pytest

from sayso.base.errors import StoreUnavailable
from sayso.stores import open_store
from sayso.stores.base import Store
from tests.stores.backends import NETWORKED, SHARED, opened
from tests.stores.processes import SCOPE, a_claim, a_step
from tests.stores.secure import certificate, secured
from tests.stores.servers import PASSWORD


def over_tls(url: str, port: int, *, checked: bool) -> str:
    """The URL by which the same database is reached there; the certificate is checked or not."""
    parts = urlsplit(url)
    reached = parts._replace(netloc=f"{parts.netloc.rpartition('@')[0]}@localhost:{port}")
    if parts.scheme == "redis":
        how = f"ssl_ca_certs={certificate()}" if checked else "ssl_cert_reqs=none"
        reached = reached._replace(scheme="rediss", query=f"{parts.query}&{how}")
    else:
        how = f"sslmode=verify-full&sslrootcert={certificate()}" if checked else "sslmode=require"
        reached = reached._replace(query=how)
    return reached.geturl()


async def works(store: Store) -> None:
    """Reading, writing, renewing, hearing: each by a connection of its own."""
    async with opened(store):
        store.subscribe(lambda scope, thread_id: None)
        lease = await store.claim(a_claim("t", "me"))
        for n in range(1, 4):
            assert await store.commit(lease, a_step(n)) is False
        assert store.renew([lease], 60_000).lost == ()
        assert len(await store.journal(SCOPE, "turn_t_0")) == 3


@pytest.mark.parametrize("checked", [True, False], ids=["checked", "unchecked"])
@pytest.mark.parametrize("kind", NETWORKED)
async def test_a_store_is_reached_over_tls(kind: str, checked: bool, tmp_path: Path) -> None:
    """Design 6: `rediss://`, `sslmode=require` and `verify-full`."""
    url = SHARED[kind](tmp_path)
    with secured(url) as way:
        await works(open_store(over_tls(url, way.port, checked=checked)))
        assert way.taken >= 2


@pytest.mark.parametrize("kind", NETWORKED)
async def test_a_certificate_of_nobody_known_is_refused(kind: str, tmp_path: Path) -> None:
    """And told, without the password."""
    url = SHARED[kind](tmp_path)
    with secured(url) as way:
        reached = over_tls(url, way.port, checked=True).replace(f"{certificate()}", "/dev/null")
        with pytest.raises(StoreUnavailable, match=r"(?i)certificate") as told:
            await open_store(reached).open()
        assert PASSWORD not in str(told.value)
        assert way.taken == 0
