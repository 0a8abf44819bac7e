"""Log lines that say what they are about: ids of the thread, run, interrupt and agent at hand."""

import logging
from contextvars import ContextVar

from sayso.base import jsonvalue
from sayso.base.clock import format_time

FORMATS = ("text", "json")

_about: ContextVar[dict[str, str] | None] = ContextVar("sayso_about", default=None)


class log_context:
    """Say what the lines of a block are about, and those of the tasks that begin in it.

    The ids are `thread`, `run`, `interrupt`, `agent`, `reason`, `subject` and `code`; they join
    those of the block around.
    """

    __slots__ = ("_ids", "_token")

    def __init__(self, **ids: str) -> None:
        self._ids = ids

    def __enter__(self) -> None:
        self._token = _about.set({**(_about.get() or {}), **self._ids})

    def __exit__(self, *_: object) -> None:
        _about.reset(self._token)


def log_to_stderr(form: str, level: int) -> None:
    """Log from `level` on as one of `FORMATS`; the process's own choice, made once.

    Steps of decisions (`sayso.decisions`) are shown at `warning` as well, though they are none.
    In `json` every line is an object, warnings of Python included.
    """
    handler = logging.StreamHandler()
    if form == "json":
        handler.setFormatter(JsonLines())
        logging.captureWarnings(True)
    else:
        handler.setFormatter(TextLines())
    logging.getLogger("sayso.decisions").setLevel(
        min(level, logging.INFO) if level <= logging.WARNING else level
    )
    logging.basicConfig(handlers=[handler], level=level, force=True)
    logging.getLogger("uvicorn").setLevel(logging.ERROR)


class TextLines(logging.Formatter):
    """Lines for people: time, level, logger, message, and the ids in brackets.

    Control characters in a message or an id are escaped: they end no line and steer no terminal.
    """

    def format(self, record: logging.LogRecord) -> str:
        """The line; a traceback follows as Python writes it."""
        ids = " ".join(f"{name}={value}" for name, value in (_about.get() or {}).items())
        time = format_time(int(record.created * 1000))
        said = f"{record.name}: {record.getMessage()}{f' [{ids}]' if ids else ''}"
        line = f"{time} {record.levelname} {_escaped(said)}"
        if record.exc_info:
            line += f"\n{self.formatException(record.exc_info)}"
        if record.stack_info:
            line += f"\n{self.formatStack(record.stack_info)}"
        return line


def _escaped(text: str) -> str:
    if text.isprintable():
        return text
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode()
        for character in text
    )


class JsonLines(logging.Formatter):
    """One JSON object a line: `time`, `level`, `logger`, `message`, the ids, `error` if raised."""

    def format(self, record: logging.LogRecord) -> str:
        """No text can break a line: what has no UTF-8 form is escaped."""
        line = {
            "time": format_time(int(record.created * 1000)),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **(_about.get() or {}),
        }
        if record.exc_info:
            line["error"] = self.formatException(record.exc_info)
        if record.stack_info:
            line["stack"] = record.stack_info
        plain = {
            name: text.encode("utf-8", "backslashreplace").decode() for name, text in line.items()
        }
        return jsonvalue.encode(plain).decode()
