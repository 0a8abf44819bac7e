"""Log lines that say what they are about: ids of the thread, run, interrupt and agent at hand."""

import logging
from contextvars import ContextVar

from sayso.base import jsonvalue
from sayso.base.clock import format_time
from sayso.base.scrubbing import Scrubbing

FORMATS = ("text", "json")

_about: ContextVar[dict[str, str] | None] = ContextVar("sayso_about", default=None)


class log_context:
    """Say what the lines of a block are about, and those of the tasks that begin in it.

    The ids are `thread`, `run`, `interrupt`, `agent`, `reason`, `subject`, `code` and `trace_id`;
    they join those of the block around.
    """

    __slots__ = ("_ids", "_token")

    def __init__(self, **ids: str) -> None:
        self._ids = ids

    def __enter__(self) -> None:
        self._token = _about.set({**(_about.get() or {}), **self._ids})

    def __exit__(self, *_: object) -> None:
        _about.reset(self._token)


def forget_log_context() -> None:
    """Say nothing of what the lines from here on are about."""
    _about.set(None)


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


class ScrubbedLogs:
    """Has all handlers that the process has at the beginning scrub what they write, to the end."""

    def __init__(self, scrub: Scrubbing | None) -> None:
        self._filter = None if scrub is None else _Scrubbing(scrub)
        self._handlers: set[logging.Handler] = set()

    def begin(self) -> None:
        """Scrub from now on, with handlers that have come since the last time."""
        if self._filter is None:
            return
        self._handlers.update(logging.getLogger().handlers)
        for logger in logging.root.manager.loggerDict.values():
            self._handlers.update(logger.handlers if isinstance(logger, logging.Logger) else ())
        if logging.lastResort is not None:
            self._handlers.add(logging.lastResort)
        for handler in self._handlers:
            handler.addFilter(self._filter)

    def end(self) -> None:
        """Scrub no more."""
        while self._handlers and self._filter is not None:
            self._handlers.pop().removeFilter(self._filter)


class _Scrubbing(logging.Filter):
    """Scrubs a record in place, its traceback as text: whoever handles it next sees no more."""

    def __init__(self, scrub: Scrubbing) -> None:
        super().__init__()
        self._scrub = scrub

    def filter(self, record: logging.LogRecord) -> bool:
        """Let it pass, scrubbed; arguments stay apart where they can, as some handlers read."""
        scrub = self._scrub
        if isinstance(record.args, tuple):
            record.args = tuple(scrub(a) if isinstance(a, str) else a for a in record.args)
        try:
            message = record.getMessage()
        except Exception:  # an author's value that cannot say what it is
            record.msg, record.args, message = "(a line that cannot be read)", None, ""
        if (scrubbed := scrub(message)) != message:
            record.msg, record.args = scrubbed, None
        if record.exc_info:
            record.exc_text = scrub(record.exc_text or _PLAIN.formatException(record.exc_info))
            record.exc_info = None
        if record.stack_info:
            record.stack_info = scrub(record.stack_info)
        return True


_PLAIN = logging.Formatter()


class _Lines(logging.Formatter):
    def raised(self, record: logging.LogRecord) -> str | None:
        """Give the traceback of what was raised; one that was scrubbed is there as text alone."""
        return self.formatException(record.exc_info) if record.exc_info else record.exc_text


class TextLines(_Lines):
    """Lines for people: time, level, logger, message, and the ids in brackets.

    Control characters in a message or an id are escaped: they end no line and steer no terminal.
    """

    def format(self, record: logging.LogRecord) -> str:
        """The line; a traceback follows as Python writes it."""
        ids = " ".join(f"{name}={value}" for name, value in (_about.get() or {}).items())
        time = format_time(int(record.created * 1000))
        said = f"{record.name}: {record.getMessage()}{f' [{ids}]' if ids else ''}"
        line = f"{time} {record.levelname} {_escaped(said)}"
        if raised := self.raised(record):
            line += f"\n{raised}"
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


class JsonLines(_Lines):
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
        if raised := self.raised(record):
            line["error"] = raised
        if record.stack_info:
            line["stack"] = record.stack_info
        plain = {
            name: text.encode("utf-8", "backslashreplace").decode() for name, text in line.items()
        }
        return jsonvalue.encode(plain).decode()
