"""A request to a model of the SDK: streamed while it comes, recorded when it is whole."""

from collections.abc import AsyncIterator
from typing import Any

from agents import Model, ModelResponse
from agents.usage import Usage
from openai.types.responses import ResponseOutputItem, ResponseUsage
from pydantic import TypeAdapter

from sayso import Speak
from sayso.frameworks.openai_agents.hosted import report_hosted
from sayso.frameworks.openai_agents.running import RunnerEntry

_ITEMS: TypeAdapter[list[ResponseOutputItem]] = TypeAdapter(list[ResponseOutputItem])
_SAID = ("response.output_text.delta", "response.refusal.delta")
_THOUGHT = ("response.reasoning_text.delta", "response.reasoning_summary_text.delta")
_OUTPUT_SCHEMA = 4
"""Where `Model.get_response` takes the schema of the output."""


async def recorded(
    run: RunnerEntry, model: Model, args: tuple[Any, ...], more: dict[str, Any]
) -> ModelResponse:
    """Ask a model once in the life of the turn; returns its answer, and reports hosted calls."""
    schema = more.get("output_schema", args[_OUTPUT_SCHEMA] if len(args) > _OUTPUT_SCHEMA else None)
    plain = schema is None or schema.is_plain_text()

    async def ask(speak: Speak) -> dict[str, Any]:
        return await _listened(model.stream_response(*args, **more), speak, plain=plain)

    record = await run.turn.parked(run.turn.model(ask, name="model"))
    response = _restored(record)
    await run.turn.parked(report_hosted(run.turn, response.output))
    return response


async def _listened(stream: AsyncIterator[Any], speak: Speak, *, plain: bool) -> dict[str, Any]:
    """Say what a model says while it comes; returns the whole answer as JSON.

    Raises:
        RuntimeError: the stream ended before the answer did.
    """
    final: Any = None
    async for event in stream:
        if event.type in _SAID and plain:
            await speak.text(event.delta)
        elif event.type in _THOUGHT:
            await speak.think(event.delta)
        elif event.type == "response.completed":
            final = event.response
        elif event.type in ("response.failed", "response.incomplete"):
            raise RuntimeError(f"the model gave no whole answer: {_why(event.response)}")
        elif event.type in ("error", "response.error"):
            raise RuntimeError(f"the model failed: {event.message}")
    if final is None:
        raise RuntimeError("the model's answer broke off")
    usage = None
    if final.usage is not None:
        usage = final.usage.model_dump(mode="json")
        counts = {
            "input_tokens": final.usage.input_tokens,
            "output_tokens": final.usage.output_tokens,
            "cached_input_tokens": getattr(final.usage.input_tokens_details, "cached_tokens", None),
            "reasoning_tokens": getattr(
                final.usage.output_tokens_details, "reasoning_tokens", None
            ),
        }
        speak.usage(None, str(final.model), **counts)
    return {
        "output": [item.model_dump(mode="json", exclude_unset=True) for item in final.output],
        "id": final.id,
        "usage": usage,
    }


def _restored(record: dict[str, Any]) -> ModelResponse:
    usage = Usage(requests=1)
    if record["usage"] is not None:
        counts = ResponseUsage.model_validate(record["usage"])
        usage = Usage(
            requests=1,
            input_tokens=counts.input_tokens,
            output_tokens=counts.output_tokens,
            total_tokens=counts.total_tokens,
            input_tokens_details=counts.input_tokens_details,
            output_tokens_details=counts.output_tokens_details,
        )
    return ModelResponse(
        output=_ITEMS.validate_python(record["output"]), usage=usage, response_id=record["id"]
    )


def _why(response: Any) -> str:
    if response.error is not None:
        return str(response.error.message)
    details = response.incomplete_details
    return str(details.reason if details is not None and details.reason else response.status)
