"""One agent, every client: what is opened in one is answered in any other (design 5, LG-14)."""

from collections.abc import Iterator

import pytest

from tests.contract.requirements import requirement
from tests.process.dialects import ALL
from tests.server import DemoServer


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DemoServer]:
    with DemoServer(tmp_path_factory.mktemp("dialects"), watched=False) as server:
        yield server


@requirement("LG-14")
@pytest.mark.parametrize("answered", ALL)
@pytest.mark.parametrize("opened", ALL)
def test_a_thread_that_is_opened_in_one_is_answered_in_another(
    server: DemoServer, opened: str, answered: str
) -> None:
    """It waits in every dialect, is approved in one, done once, and over in every one."""
    first, second, thread = ALL[opened], ALL[answered], f"{opened}-{answered}"
    first.opens(server, thread)
    waits, said = second.shows(server, thread)
    assert waits
    assert "Refunded" not in said
    second.answers(server, thread)
    assert server.kinds(thread) == ["refund"]
    for dialect in (first, second):
        waits, said = dialect.shows(server, thread)
        assert not waits
        assert "Refunded 240.00 for order A-17." in said
