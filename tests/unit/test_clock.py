"""The machine's own time, as far as nobody has to wait for it."""

import threading

from sayso.base.clock import SystemClock
from tests.patience import PATIENCE


def test_periodic_work_is_done_in_a_thread_of_its_own_until_its_end() -> None:
    """Design 6: a blocked event loop holds nothing up; after its end nothing is begun."""
    called = threading.Semaphore(0)
    threads: list[str] = []

    def work() -> None:
        threads.append(threading.current_thread().name)
        called.release()

    end = SystemClock().every(0.001, work, "periodic")
    assert called.acquire(timeout=PATIENCE)
    assert called.acquire(timeout=PATIENCE)
    end()
    assert set(threads) == {"periodic"}
    assert "periodic" not in {thread.name for thread in threading.enumerate()}
