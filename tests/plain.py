"""Requests to servers of the tests' own, which have no certificates.

Without this httpx reads those of all authorities for each request: 30 ms of CPU, at each look at a
server that is waited for.
"""

import ssl
from functools import partial

import httpx

__all__ = ["get", "post", "request", "stream"]

_NONE = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)

get = partial(httpx.get, verify=_NONE)
post = partial(httpx.post, verify=_NONE)
request = partial(httpx.request, verify=_NONE)
stream = partial(httpx.stream, verify=_NONE)
