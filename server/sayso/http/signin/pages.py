"""The pages of signing in, without a script: one goes on by itself, one says what is wrong."""

import hashlib
from base64 import b64encode
from html import escape
from typing import Final

from sayso.http.asgi import Send

_STYLE: Final = """
:root { color-scheme: light dark; font: 16px/1.5 system-ui, -apple-system, "Segoe UI", sans-serif;
  color: light-dark(#17211c, #e3eae6); background: light-dark(#f7f9f7, #121715); }
body { display: grid; place-content: center; min-height: 100dvh; margin: 0; padding: 2rem;
  box-sizing: border-box; }
main { max-width: 34rem; }
h1 { margin: 0 0 0.375rem; font-size: 1.375rem; letter-spacing: -0.01em; }
p { margin: 0 0 1rem; color: light-dark(#56635c, #9aa8a0); }
a { display: inline-block; padding: 0.5rem 0.875rem; border-radius: 6px; font-weight: 600;
  color: light-dark(#ffffff, #06281d); background: light-dark(#0c6a50, #62d0a8);
  text-decoration: none; }
a:focus-visible { outline: 2px solid light-dark(#0c6a50, #62d0a8); outline-offset: 2px; }
"""
_DIGEST: Final = b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
_FIELDS: Final = [
    (b"content-type", b"text/html; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-content-type-options", b"nosniff"),
    (
        b"content-security-policy",
        f"default-src 'none'; style-src 'sha256-{_DIGEST}'; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'".encode(),
    ),
]

Fields = list[tuple[bytes, bytes]]


async def send_onward(send: Send, path: str, fields: Fields) -> None:
    """Answer with a page that goes on to a path of this server.

    A redirect would be one of the provider's, which no cookie that is `Strict` comes along with.
    """
    to = escape(path)
    head = f'<meta http-equiv="refresh" content="0;url={to}">'
    body = (
        f"<h1>You are signed in</h1>\n<p>This page goes on by itself.</p>\n"
        f'<a href="{to}">Continue</a>'
    )
    await _send(send, 200, "You are signed in", head, body, fields)


async def send_trouble(
    send: Send, status: int, title: str, text: str, again: str, fields: Fields | None = None
) -> None:
    """Answer with what is wrong, and the way to try again."""
    body = (
        f'<h1>{escape(title)}</h1>\n<p>{escape(text)}</p>\n<a href="{escape(again)}">Try again</a>'
    )
    await _send(send, status, title, "", body, fields or [])


async def _send(send: Send, status: int, title: str, head: str, body: str, fields: Fields) -> None:
    page = (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n{head}<style>{_STYLE}</style>\n</head>\n"
        f"<body>\n<main>\n{body}\n</main>\n</body>\n</html>\n"
    ).encode()
    length = (b"content-length", str(len(page)).encode())
    await send(
        {"type": "http.response.start", "status": status, "headers": [*_FIELDS, length, *fields]}
    )
    await send({"type": "http.response.body", "body": page, "more_body": False})
