"""Wildcards: patterns with `*` in them, as reviewers write, against texts. Pure; linear in both.

`*` alone matches every text. In any other pattern `*` stands for any characters, none included, of
one part of the text, and never for a character that ends a part:

- If the pattern is a URL (`scheme://…`), the text has to be one too, and the parts are those of a
  URL. In the host `*` stays within one label between dots, of ASCII letters, digits, `-` and `_`;
  the number of labels is the same. In a port it stands for digits. In the path it stays within one
  segment, in the query within one `a=b`. The text must not have a port, credentials, a query or a
  fragment that the pattern does not have; credentials are the same, without any `*`. If the pattern
  ends with a `*` in its path, that one stands for the rest: path, query and fragment. Scheme and
  host are compared without regard to case.
- In any other text `*` stays within one segment between slashes or backslashes. In a pattern with
  `@` it stays within one address: the text has each character that separates addresses (`@`, `,`,
  `;`, brackets, quotes, spaces) at most as often as the pattern.

A text with control or formatting characters, or with a segment `.` or `..` (also spelled `%2e`),
matches nothing. Nor does a URL with a space or backslash, with more than one `@` before its path,
or with more than 4,096 characters there: other readers may understand it differently.
"""

import re
from collections.abc import Sequence
from typing import Final, NamedTuple
from unicodedata import category

_URL: Final = re.compile(
    r"(?P<scheme>[A-Za-z*][A-Za-z0-9+.*-]*)://(?P<authority>[^/?#]*)"
    r"(?P<path>[^?#]*)(?P<query>(?:\?[^#]*)?)(?P<fragment>(?:#.*)?)",
    re.DOTALL,
)
_PLACE: Final = re.compile(r"(\[[^\]]*\]|[^:\[\]]*)(?::([0-9]+|\*))?", re.DOTALL)
_MAX_AUTHORITY_CHARS: Final = 4_096
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


def matches(pattern: str, text: str) -> bool:
    """True if a text fits a pattern; see above."""
    if pattern == "*":
        return True
    if "*" not in pattern:
        return pattern == text
    if any(category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp") for character in text):
        return False
    url_pattern = _parsed(pattern)
    if url_pattern is None and not _URL.match(pattern):
        apart = _climbs(text) or _addresses(pattern, text)
        return not apart and _segments(_SLASH.split(pattern), _SLASH.split(text))
    url = None if " " in text or "\\" in text else _parsed(text)
    return url_pattern is not None and url is not None and _is_like_url(url_pattern, url)


def _parsed(text: str) -> _Url | None:
    whole = _URL.fullmatch(text)
    if whole is None:
        return None
    authority: str = whole["authority"]
    user, separator, behind = authority.rpartition("@")
    place = _PLACE.fullmatch(behind)
    if place is None or "@" in user or len(authority) > _MAX_AUTHORITY_CHARS:
        return None
    host, port = place.groups()
    return _Url(
        whole["scheme"].lower(),
        user if separator else None,
        host.lower() if host.isascii() else host,
        port,
        whole["path"],
        whole["query"],
        whole["fragment"],
    )


def _is_like_url(pattern: _Url, url: _Url) -> bool:
    if "*" in url.scheme or not _one(pattern.scheme, url.scheme):
        return False
    if pattern.user != url.user or not _is_like_host(pattern.host, url.host):
        return False
    if pattern.port != url.port and (pattern.port != "*" or url.port is None):
        return False
    if url.port == "*" or _climbs(url.path):
        return False
    behind = pattern.path + pattern.query + pattern.fragment
    if behind.endswith("*") and not (pattern.query or pattern.fragment):
        *firm, last = pattern.path.split("/")
        segments = url.path.split("/")
        return (
            len(segments) > len(firm)
            and _segments(firm, segments[: len(firm)])
            and _one(last, segments[len(firm)], final=True)
        )
    return (
        _segments(pattern.path.split("/"), url.path.split("/"))
        and _segments(pattern.query.split("&"), url.query.split("&"))
        and _one(pattern.fragment, url.fragment)
    )


def _is_like_host(pattern: str, host: str) -> bool:
    if "*" not in pattern:
        return pattern == host
    return _HOST.fullmatch(host) is not None and _segments(pattern.split("."), host.split("."))


def _addresses(pattern: str, text: str) -> bool:
    """True if a text holds more than the one address that a pattern with `@` is about."""
    return "@" in pattern and any(text.count(mark) > pattern.count(mark) for mark in _MARKS)


def _climbs(path: str) -> bool:
    """True if a segment leads elsewhere than it says."""
    plain = path.lower()
    for spelled, meant in _SPELLED:
        plain = plain.replace(spelled, meant)
    return any(segment in (".", "..") for segment in _SLASH.split(plain))


def _segments(patterns: Sequence[str], parts: Sequence[str]) -> bool:
    return len(patterns) == len(parts) and all(map(_one, patterns, parts))


def _one(pattern: str, text: str, *, final: bool = False) -> bool:
    """True if one part fits; the `*` of a `final` one may also stand for encoded slashes."""
    first, *others = pattern.split("*")
    if not others:
        return pattern == text
    if not final and any(slash in text.lower() for slash in ("%2f", "%5c")):
        return False
    *middle, last = others
    if len(text) < len(first) + len(last):
        return False
    if not (text.startswith(first) and text.endswith(last)):
        return False
    start, end = len(first), len(text) - len(last)
    for part in middle:
        index = text.find(part, start, end)
        if index < 0:
            return False
        start = index + len(part)
    return True
