"""The versions of a framework that an adapter knows, and one line where they are not there."""

import re
from importlib import metadata

from sayso import DeclarationError

_NUMBER = re.compile(r"[0-9]+")


def require(package: str, *, extra: str, least: str, below: str) -> None:
    """See that a package is there in a version that its adapter knows.

    Raises:
        DeclarationError: it is missing, too old or too new.
    """
    remedy = f"install sayso with the extra {extra}, or {package}>={least},<{below}"
    try:
        version = metadata.version(package)
    except metadata.PackageNotFoundError:
        raise DeclarationError(f"{package} is not installed: {remedy}") from None
    if not _numbers(least) <= _numbers(version) < _numbers(below):
        raise DeclarationError(f"{package} {version} is none that this version knows: {remedy}")


def _numbers(version: str) -> tuple[int, ...]:
    """The release of a version; what stands behind its numbers does not count."""
    return tuple(
        int(number[0]) for part in version.split(".") if (number := _NUMBER.match(part)) is not None
    )
