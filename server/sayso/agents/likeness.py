"""Whether a text fits a pattern with `*` in it, as a reviewer writes one. Pure; linear in both.

`*` alone fits every text. In any other pattern `*` stands for any characters, none included, of
one part of the text, and never for what ends a part:

- Where the pattern is a URL (`scheme://…`), so has to be the text, and the parts are those of a
  URL. In the host `*` stays within one label between dots, of ASCII letters, digits, `-` and `_`;
  the number of labels is the same. In a port it stands for digits. In the path it stays within one
  segment, in the query within one `a=b`. A port, credentials, a query or a fragment that the
  pattern does not have, the text must not have; credentials are the same, without any `*`. Where
  the pattern ends with a `*` in its path, that one stands for the rest: path, query and fragment.
  Scheme and host are compared without regard to case.
- In any other text it stays within one segment between slashes, leaning either way. In a pattern
  with `@` it stays within one address: what tells two apart (`@`, `,`, `;`, brackets, quotes,
  spaces), the text has no more often than the pattern.

A text with control or formatting characters, or with a segment `.` or `..` (also spelled `%2e`),
fits none, nor does a URL with a space or backslash: other readers take such a one for another.
"""

import re
from collections.abc import Sequence
from typing import Final, NamedTuple
from unicodedata import category

__all__ = ["is_like"]

_URL: Final = re.compile(
    r"(?P<scheme>[A-Za-z*][A-Za-z0-9+.*-]*)://(?P<authority>[^/?#]*)"
    r"(?P<path>[^?#]*)(?P<query>(?:\?[^#]*)?)(?P<fragment>(?:#.*)?)",
    re.DOTALL,
)
_AUTHORITY: Final = re.compile(r"(?:(.*)@)?(\[[^\]]*\]|[^:\[\]]*)(?::([0-9]+|\*))?", re.DOTALL)
_HOST: Final = re.compile(r"[a-z0-9_-]+(?:\.[a-z0-9_-]+)*")
_SLASH: Final = re.compile(r"([/\\])")
_MARKS: Final = "@,;<>()[]\"' "
_SPELLED: Final = (("%2e", "."), ("%2f", "/"), ("%5c", "\\"))


class _Url(NamedTuple):
    scheme: str
    user: str | None
    host: str
    port: str | None
    path: str
    query: str
    fragment: str


def is_like(wanted: str, text: str) -> bool:
    """Whether a text fits a pattern; see above."""
    if wanted == "*":
        return True
    if "*" not in wanted:
        return wanted == text
    if any(category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp") for character in text):
        return False
    pattern = _parsed(wanted)
    if pattern is None and not _URL.match(wanted):
        apart = _climbs(text) or _addresses(wanted, text)
        return not apart and _segments(_SLASH.split(wanted), _SLASH.split(text))
    url = None if " " in text or "\\" in text else _parsed(text)
    return pattern is not None and url is not None and _is_like_url(pattern, url)


def _parsed(text: str) -> _Url | None:
    whole = _URL.fullmatch(text)
    authority = _AUTHORITY.fullmatch(whole["authority"]) if whole else None
    if whole is None or authority is None:
        return None
    user, host, port = authority.groups()
    return _Url(
        whole["scheme"].lower(),
        user,
        host.lower() if host.isascii() else host,
        port,
        whole["path"],
        whole["query"],
        whole["fragment"],
    )


def _is_like_url(wanted: _Url, url: _Url) -> bool:
    if "*" in url.scheme or not _one(wanted.scheme, url.scheme):
        return False
    if wanted.user != url.user or not _is_like_host(wanted.host, url.host):
        return False
    if wanted.port != url.port and (wanted.port != "*" or url.port is None):
        return False
    if url.port == "*" or _climbs(url.path):
        return False
    behind = wanted.path + wanted.query + wanted.fragment
    if behind.endswith("*") and not (wanted.query or wanted.fragment):
        *firm, last = wanted.path.split("/")
        found = url.path.split("/")
        return (
            len(found) > len(firm)
            and _segments(firm, found[: len(firm)])
            and _one(last, found[len(firm)], final=True)
        )
    return (
        _segments(wanted.path.split("/"), url.path.split("/"))
        and _segments(wanted.query.split("&"), url.query.split("&"))
        and _one(wanted.fragment, url.fragment)
    )


def _is_like_host(wanted: str, host: str) -> bool:
    if "*" not in wanted:
        return wanted == host
    return _HOST.fullmatch(host) is not None and _segments(wanted.split("."), host.split("."))


def _addresses(wanted: str, text: str) -> bool:
    """Whether a text holds more than the one address that a pattern with `@` is about."""
    return "@" in wanted and any(text.count(mark) > wanted.count(mark) for mark in _MARKS)


def _climbs(path: str) -> bool:
    """Whether a segment leads elsewhere than it says."""
    plain = path.lower()
    for spelled, meant in _SPELLED:
        plain = plain.replace(spelled, meant)
    return any(segment in (".", "..") for segment in _SLASH.split(plain))


def _segments(wanted: Sequence[str], found: Sequence[str]) -> bool:
    return len(wanted) == len(found) and all(map(_one, wanted, found))


def _one(wanted: str, text: str, *, final: bool = False) -> bool:
    """Whether one part fits; the `*` of a `final` one may also stand for slashes in disguise."""
    first, *others = wanted.split("*")
    if not others:
        return wanted == text
    if not final and any(slash in text.lower() for slash in ("%2f", "%5c")):
        return False
    *middle, last = others
    if len(text) < len(first) + len(last):
        return False
    if not (text.startswith(first) and text.endswith(last)):
        return False
    at, end = len(first), len(text) - len(last)
    for part in middle:
        found = text.find(part, at, end)
        if found < 0:
            return False
        at = found + len(part)
    return True
