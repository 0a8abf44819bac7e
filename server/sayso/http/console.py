"""The console: the built web files, served under any prefix with a policy that runs only them."""

import gzip
import hashlib
import mimetypes
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from sayso.http.asgi import Receive, Scope, Send, header, path_of
from sayso.http.errors import method_not_allowed, not_found

EFFECTS: Final = "effects"
"""The name of the route with a demo's real effects, which the console shows."""

_POLICY: Final = (
    b"default-src 'self'; style-src 'self'; script-src 'self'; connect-src 'self'; "
    b"img-src 'self' data:; base-uri 'none'; frame-ancestors 'none'; object-src 'none'"
)
_SECURITY: Final = [
    (b"content-security-policy", _POLICY),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
]
_FOREVER: Final = b"public, max-age=31536000, immutable"
_HASHED: Final = "assets/"
"""The folder of built files whose names carry a digest of their content."""
_SHORT: Final = 1_024
"""Bytes of a file that goes out as it is: nobody waits for it."""
_PACKABLE: Final = (
    "text/",
    "image/svg+xml",
    "application/javascript",
    "application/json",
    "application/manifest+json",
)
_VIEWS: Final = ("play/", "inbox/", "thread/")
"""Views whose addresses hold ids, which may hold dots."""
_NOT_BUILT: Final = (
    b"The Sayso server is running, but its console has not been built.\n\n"
    b"In a checkout, `npm start` builds it; an installed package carries it along.\n"
    b"The agents are served all the same: GET /agents lists them.\n"
)


def built_console() -> Path:
    """The folder of the built files: inside the package, else in the checkout around it."""
    package = Path(__file__).parents[1]
    inside = package / "_console"
    return inside if inside.is_dir() else package.parents[1] / "web" / "console" / "dist"


@dataclass(frozen=True, slots=True)
class _File:
    body: bytes
    media: bytes
    cache: bytes
    etag: bytes
    packed: bytes | None = None
    """The body by gzip, where that is worth it."""

    def etag_of(self, packed: bool) -> bytes:
        """Two encodings are two representations."""
        return self.etag[:-1] + b'-gzip"' if packed else self.etag


class Console:
    """An ASGI app over the files of one folder, which are read once, at the first request.

    Every path that names no file is a view of the console and gets `index.html`, with its relative
    addresses made absolute below the mount point; only a browser's page load does, so that a
    wrong address of an API stays a 404. `effects` is the path of what the demo really did, without
    a leading slash; the page shows it where there is one. `sign_in` names where people sign in.
    """

    def __init__(
        self, folder: Path, *, effects: str | None = None, sign_in: str | None = None
    ) -> None:
        self._folder = folder
        marks = {"effects": effects, "sign-in": sign_in}
        self._marks = {name: text for name, text in marks.items() if text is not None}
        self._files: dict[str, _File] = {}

    async def __call__(self, scope: Scope, _: Receive, send: Send) -> None:
        """Serve one request.

        Raises:
            Problem: there is no such file, or the method is not allowed.
        """
        if not self._files:
            self._files = _read(self._folder)
        name = path_of(scope).removeprefix("/")
        file = self._files.get(name)
        if name in ("", "index.html") or (file is None and _wants_page(scope, name)):
            file = self._page(scope)
        if file is None:
            raise not_found()
        if scope["method"] not in ("GET", "HEAD"):
            raise method_not_allowed("GET", "HEAD")
        await _send(file, scope, send)

    def _page(self, scope: Scope) -> _File:
        index = self._files.get("index.html")
        if index is None:
            return _file(_NOT_BUILT, b"text/plain; charset=utf-8", b"no-store")
        root = scope.get("root_path", "").rstrip("/")
        body = index.body.replace(b'="./', b'="' + _attribute(root) + b"/")
        marks = [_mark(*mark) for mark in (("root", root + "/"), *self._marks.items())]
        head = b"\n    ".join([b"<head>", *marks])
        return _file(body.replace(b"<head>", head, 1), index.media, b"no-cache")


def _mark(name: str, content: str) -> bytes:
    return b'<meta name="sayso-%b" content="%b" />' % (name.encode(), _attribute(content))


def _attribute(text: str) -> bytes:
    for sign, spelt in (("&", "&amp;"), ('"', "&quot;"), ("<", "&lt;")):
        text = text.replace(sign, spelt)
    return text.encode()


def _wants_page(scope: Scope, name: str) -> bool:
    is_file = "." in name.rpartition("/")[2] and not name.startswith(_VIEWS)
    return "text/html" in (header(scope, b"accept") or "") and not is_file


def _file(body: bytes, media: bytes, cache: bytes) -> _File:
    return _File(
        body, media, cache, b'"' + hashlib.blake2b(body, digest_size=12).hexdigest().encode() + b'"'
    )


def _read(folder: Path) -> dict[str, _File]:
    files = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            name = path.relative_to(folder).as_posix()
            media = mimetypes.guess_type(name)[0] or "application/octet-stream"
            if media.startswith("text/") or media == "application/json":
                media += "; charset=utf-8"
            cache = _FOREVER if name.startswith(_HASHED) else b"no-cache"
            file = _file(path.read_bytes(), media.encode(), cache)
            if len(file.body) > _SHORT and media.startswith(_PACKABLE):
                file = replace(file, packed=gzip.compress(file.body, mtime=0))
            files[name] = file
    return files


def _takes_gzip(scope: Scope) -> bool:
    """True if the client takes gzip, by name or by `*` (RFC 9110, 12.5.3)."""
    weights: dict[str, bool] = {}
    for offer in (header(scope, b"accept-encoding") or "").lower().split(","):
        coding, _, weight = offer.partition(";")
        number = weight.replace(" ", "").removeprefix("q=").rstrip("0")
        weights[coding.strip()] = not weight or number not in ("", ".", "0.")
    return weights.get("gzip", weights.get("*", False))


async def _send(file: _File, scope: Scope, send: Send) -> None:
    packed = file.packed if file.packed is not None and _takes_gzip(scope) else None
    etag = file.etag_of(packed is not None)
    fields = [(b"cache-control", file.cache), (b"etag", etag), *_SECURITY]
    if file.packed is not None:
        fields.append((b"vary", b"Accept-Encoding"))
    if header(scope, b"if-none-match") == etag.decode():
        await send({"type": "http.response.start", "status": 304, "headers": fields})
        await send({"type": "http.response.body", "body": b"", "more_body": False})
        return
    body = file.body
    if packed is not None:
        body = packed
        fields.append((b"content-encoding", b"gzip"))
    fields += [(b"content-type", file.media), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": fields})
    shown = b"" if scope["method"] == "HEAD" else body
    await send({"type": "http.response.body", "body": shown, "more_body": False})
