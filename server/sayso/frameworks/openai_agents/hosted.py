"""Calls of tools that a provider runs itself: told and audited, and decided by nobody here."""

import base64
from collections.abc import Iterable, Sequence
from typing import Any

from pydantic_core import from_json, to_json

from sayso import Turn, parts

Result = str | Sequence[parts.Part]


async def report_hosted(turn: Turn, output: Iterable[Any]) -> None:
    """Report the hosted calls of a model's answer, in order, each with what came of it."""
    for item in output:
        read = _READ.get(item.type)
        if read is not None:
            name, arguments, result, error = read(item)
            reported = await turn.report(name, arguments, told_as=item.id)
            await reported.result(result, error=error)


def _web(item: Any) -> tuple[str, dict[str, Any], Result, str | None]:
    return "web_search", _plain(item.action), item.status, _failed(item)


def _files(item: Any) -> tuple[str, dict[str, Any], Result, str | None]:
    passages = [_plain(result) for result in item.results or ()]
    result = to_json(passages).decode() if passages else item.status
    return "file_search", {"queries": item.queries}, result, _failed(item)


def _code(item: Any) -> tuple[str, dict[str, Any], Result, str | None]:
    made: list[parts.Part] = []
    for output in item.outputs or ():
        shown = output.logs if output.type == "logs" else None
        made.append(parts.image(url=output.url) if shown is None else parts.text(shown))
    return "code_interpreter", {"code": item.code or ""}, made or item.status, _failed(item)


def _image(item: Any) -> tuple[str, dict[str, Any], Result, str | None]:
    kind = getattr(item, "output_format", None) or "png"
    made: Result = item.status
    if item.result:
        data = base64.b64decode(item.result)
        made = [parts.image(data=data, mime_type=f"image/{kind}")]
    return "image_generation", {}, made, _failed(item)


def _server(item: Any) -> tuple[str, dict[str, Any], Result, str | None]:
    try:
        arguments = from_json(item.arguments or "{}")
    except ValueError:
        arguments = {"written": item.arguments}
    error = None if item.error is None else _why(item.error)
    return f"{item.server_label}.{item.name}", arguments, item.output or "", error


def _why(error: Any) -> str:
    """The words of an error of an MCP server, which older versions have as a text."""
    if isinstance(error, str):
        return error
    words = getattr(error, "message", None) or getattr(error, "content", "")
    return words if isinstance(words, str) else to_json(words).decode()


def _failed(item: Any) -> str | None:
    return f"status {item.status}" if item.status in ("failed", "incomplete") else None


def _plain(value: Any) -> dict[str, Any]:
    """A member of an answer as a JSON object."""
    if value is None:
        return {}
    plain = value if isinstance(value, dict) else value.model_dump(mode="json", exclude_none=True)
    return dict(plain)


_READ = {
    "web_search_call": _web,
    "file_search_call": _files,
    "code_interpreter_call": _code,
    "image_generation_call": _image,
    "mcp_call": _server,
}
