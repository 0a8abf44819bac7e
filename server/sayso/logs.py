"""Log lines that say what they are about: ids of the thread, run, interrupt and agent at hand."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from sayso import jsonvalue
from sayso.clock import iso

__all__ = ["FORMATS", "JsonLines", "about", "log_to_stderr"]

FORMATS = ("text", "json")

_about: ContextVar[dict[str, str] | None] = ContextVar("sayso_about", default=None)


@contextmanager
def about(**ids: str) -> Iterator[None]:
    """Say what the lines of a block are about, and those of the tasks that begin in it.

    The ids are `thread`, `run`, `interrupt`, `agent`; they join those of the block around.
    """
    token = _about.set({**(_about.get() or {}), **ids})
    try:
        yield
    finally:
        _about.reset(token)


def log_to_stderr(form: str, level: int) -> None:
    """Log from `level` on as one of `FORMATS`; the process's own choice, made once.

    In `json` every line is an object, warnings of Python included.
    """
    handler = logging.StreamHandler()
    if form == "json":
        handler.setFormatter(JsonLines())
        logging.captureWarnings(True)
    else:
        handler.setFormatter(logging.Formatter("%(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(handlers=[handler], level=level, force=True)
    logging.getLogger("uvicorn").setLevel(logging.ERROR)


class JsonLines(logging.Formatter):
    """One JSON object a line: `time`, `level`, `logger`, `message`, the ids, `error` if raised."""

    def format(self, record: logging.LogRecord) -> str:
        """No text can break a line: what has no UTF-8 form is escaped."""
        line = {
            "time": iso(int(record.created * 1000)),
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
