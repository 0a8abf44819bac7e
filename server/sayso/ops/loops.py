"""Event loops that end in time, whatever code of authors still runs in them or in threads.

`asyncio.Runner` waits for all tasks, generators and threads when it is closed, forever if need be.
"""

import asyncio
import threading
import time


def close_runner(runner: asyncio.Runner, seconds: float) -> bool:
    """Cancel all that runs in a runner's loop, and close it; True if that has worked.

    The loop stays as it is if something has not ended within that time: code that swallows its
    cancellation, or a thread of the loop's own executor.
    """
    if not runner.get_loop().run_until_complete(_cancel_all(seconds)):
        return False
    runner.close()
    return True


async def _cancel_all(seconds: float) -> bool:
    loop = asyncio.get_running_loop()
    deadline = loop.time() + seconds
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    if tasks:
        done, tasks = await asyncio.wait(tasks, timeout=seconds)
        for task in done:
            if not task.cancelled() and (error := task.exception()) is not None:
                loop.call_exception_handler(
                    {"message": "a task failed at the end", "exception": error, "task": task}
                )
    closing = {
        asyncio.create_task(loop.shutdown_asyncgens()),
        asyncio.create_task(loop.shutdown_default_executor()),
    }
    _, late = await asyncio.wait(closing, timeout=max(0.1, deadline - loop.time()))
    return not (tasks or late)


def threads_alive(seconds: float) -> list[str]:
    """The names of threads that Python would wait for at its end, after that time."""
    deadline = time.monotonic() + seconds
    waited = [
        thread
        for thread in threading.enumerate()
        if not thread.daemon and thread is not threading.current_thread()
    ]
    for thread in waited:
        thread.join(max(0.0, deadline - time.monotonic()))
    return [thread.name for thread in waited if thread.is_alive()]
