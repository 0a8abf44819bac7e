"""A commit that several branches share: all of them learn how it ended."""

import asyncio
from types import SimpleNamespace
from typing import Any

from sayso.turns.calls.question_results import QuestionResults
from sayso.turns.replay.commits import ApprovalWrites, Commits


def execution_whose_commits_raise(error: Exception) -> Any:
    async def commit(_: Any) -> None:
        raise error

    def track(work: Any) -> asyncio.Task[Any]:
        task: asyncio.Task[Any] = asyncio.ensure_future(work)
        task.add_done_callback(lambda done: done.exception())
        return task

    return SimpleNamespace(
        take_pending=lambda: ((), (), ()),
        results=QuestionResults({}),
        clock=SimpleNamespace(now=lambda: 1),
        approval_writes=ApprovalWrites(),
        leased=SimpleNamespace(commit=commit),
        effects=SimpleNamespace(track=track),
    )


async def test_all_who_share_a_commit_are_told_that_it_failed() -> None:
    """Else an effect would begin whose beginning nobody has stored."""
    error = ValueError("no such text can be stored")
    execution = execution_whose_commits_raise(error)
    commits = Commits()
    both = [commits.durable(execution) for _ in range(2)]
    assert list(await asyncio.gather(*both, return_exceptions=True)) == [error, error]
