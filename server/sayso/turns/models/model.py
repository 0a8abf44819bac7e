"""A request to a model: streamed while it comes, recorded when it is whole, asked again otherwise.

It changes nothing outside, so it may be asked again after a crash, under the same message id, and a
stop cancels it. Tokens are counted with its record: an answer that was lost is counted once.
"""

import inspect
from collections.abc import Awaitable, Callable
from typing import Any

from sayso.agents.codec import Codec
from sayso.base.errors import TurnError
from sayso.turns.calls.steps import repeatable_step
from sayso.turns.output.messages import Reasoning, TextMessage
from sayso.turns.output.usage import report_usage
from sayso.turns.replay.execution import Execution

Ask = Callable[["Speak"], Awaitable[Any]]

_COUNTS = frozenset(
    {
        "input_tokens",
        "output_tokens",
        "reasoning_tokens",
        "cached_input_tokens",
        "cache_write_input_tokens",
    }
)


class Speak:
    """The words of a model while they come; `turn.model` hands it to the function that asks.

    Text and thoughts are messages of their own: the next of the other kind closes one.
    """

    def __init__(self, execution: Execution) -> None:
        self._execution = execution
        self._open: TextMessage | None = None
        self._counts: list[tuple[str | None, str | None, dict[str, int | None]]] = []

    async def text(self, delta: str) -> None:
        """Add to what the model says; an empty piece opens nothing."""
        if not delta:
            return
        if self._open is None or isinstance(self._open, Reasoning):
            await self._close()
            self._open = await TextMessage(self._execution).__aenter__()
        await self._open.write(delta)

    async def think(
        self, delta: str, encrypted: str | None = None, encrypted_type: str | None = None
    ) -> None:
        """Add to what the model thinks.

        `encrypted` is its sealed form, `encrypted_type` the provider's name for the kind of that:
        both belong to the whole thought, which ends with them.
        """
        if not delta and encrypted is None:
            return
        if not isinstance(self._open, Reasoning):
            await self._close()
            self._open = await Reasoning(self._execution).__aenter__()
        assert isinstance(self._open, Reasoning)  # noqa: S101 - it was just opened
        await self._open.write(delta)
        if encrypted is not None:
            self._open.encrypted, self._open.encrypted_type = encrypted, encrypted_type
            await self._close()

    def usage(self, provider: str | None, model: str | None, **counts: int | None) -> None:
        """Count tokens, by the names that `turn.usage` has; TypeError for another name."""
        if unknown := counts.keys() - _COUNTS:
            raise TypeError(
                f"usage takes {', '.join(sorted(_COUNTS))}, not {', '.join(sorted(unknown))}"
            )
        self._counts.append((provider, model, counts))

    async def _close(self) -> None:
        if self._open is not None:
            message, self._open = self._open, None
            await message.__aexit__(None, None, None)

    async def _end(self) -> None:
        """Close what is open, and count what was reported."""
        await self._close()
        if self._execution.closed:
            return
        for provider, model, counts in self._counts:
            await report_usage(self._execution, provider, model, counts)
        self._counts.clear()


async def ask_model(execution: Execution, ask: Ask, name: str, returns: Any) -> Any:
    """Ask a model once in the life of the turn; returns what was recorded of it.

    Raises `StepFailed` if `ask` raises.
    """
    if not callable(ask):
        raise _no_function(ask)
    codec = Codec(Any if returns is None else returns)

    async def asked() -> Any:
        speak = Speak(execution)
        try:
            return await ask(speak)
        finally:
            await speak._end()

    return await repeatable_step(execution, name, asked, codec)


def _no_function(passed: object) -> TurnError:
    """The error for anything but a function; a coroutine is closed, as it never runs."""
    if inspect.iscoroutine(passed):
        passed.close()
        return TurnError(
            f"turn.model was given what {passed.__name__}() returned: give it the function, which "
            "it calls with a Speak, so that a replay need not ask again"
        )
    return TurnError(f"turn.model takes an async function of a Speak, not {passed!r}")
