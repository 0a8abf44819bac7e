"""Values of options, checked before anything begins."""

from math import isfinite
from urllib.parse import urlsplit

import typer

from sayso.logs import FORMATS

__all__ = ["log_format", "origins", "seconds"]


def seconds(value: float) -> float:
    """Seconds, 0.1 or more."""
    if not isfinite(value) or value < 0.1:
        raise typer.BadParameter("must be seconds, 0.1 or more")
    return value


def log_format(value: str) -> str:
    """How log lines look."""
    if value.lower() not in FORMATS:
        raise typer.BadParameter(f"must be one of {', '.join(FORMATS)}")
    return value.lower()


def _origin(value: str) -> str:
    parts = urlsplit(value)
    whole = parts.scheme in ("http", "https") and parts.netloc and parts.path in ("", "/")
    if value != "*" and (not whole or parts.query or parts.fragment or "@" in parts.netloc):
        raise typer.BadParameter(f"{value!r} is no origin; write one like https://app.example.org")
    return value


def origins(values: list[str] | None) -> list[str]:
    """Origins of pages, or `*`."""
    return [_origin(value) for value in values or ()]
