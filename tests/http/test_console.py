"""The console's files, served: under a prefix, cached rightly, with nothing else allowed to run."""

import gzip
from pathlib import Path

import pytest
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from sayso.http.console import built_console
from tests.asgi import JSON, call
from tests.http.stub import edge

PAGE = """<!doctype html>
<html lang="en">
  <head>
    <link rel="icon" href="./favicon.svg" />
    <script type="module" src="./assets/index-abc.js"></script>
  </head>
</html>
"""
BROWSER = {"accept": "text/html,application/xhtml+xml"}


@pytest.fixture
def built(tmp_path: Path) -> Path:
    folder = tmp_path / "dist"
    (folder / "assets").mkdir(parents=True)
    (folder / "index.html").write_text(PAGE)
    (folder / "favicon.svg").write_text("<svg/>")
    (folder / "assets" / "index-abc.js").write_text("1")
    (tmp_path / "secret.txt").write_text("outside")
    return folder


@pytest.mark.parametrize("path", ["/", "/index.html", "/play/ops/v4.2", "/some/view/"])
async def test_every_view_is_the_page(built: Path, path: str) -> None:
    """The client's router knows them (design 8)."""
    answer = await call(edge(console=built), "GET", path, headers=BROWSER)
    assert answer.status == 200
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.headers["cache-control"] == "no-cache"
    assert b'src="/assets/index-abc.js"' in answer.body
    assert b'<meta name="sayso-root" content="/" />' in answer.body


def nothing(_: Request) -> Response:
    """No effects."""
    return Response("{}")


async def test_only_a_demo_s_page_is_told_where_its_effects_are(built: Path) -> None:
    """By the name of a route; every other server is not asked for what it does not have."""
    plain = await call(edge(console=built), "GET", "/", headers=BROWSER)
    assert b"sayso-effects" not in plain.body
    route = Route("/demo/effects", nothing, name="effects")
    demo = await call(edge(console=built, routes=[route]), "GET", "/", headers=BROWSER)
    assert b'<meta name="sayso-effects" content="demo/effects" />' in demo.body


async def test_addresses_are_below_the_mount_point(built: Path) -> None:
    """All links and assets work under a prefix (design 6), and the prefix cannot break out."""
    app = edge(console=built)
    answer = await call(app, "GET", "/deep/view", headers=BROWSER, root_path="/sayso")
    assert b'src="/sayso/assets/index-abc.js"' in answer.body
    assert b'content="/sayso/"' in answer.body
    asset = await call(app, "GET", "/assets/index-abc.js", root_path="/sayso")
    assert asset.body == b"1"
    odd = await call(app, "GET", "/", headers=BROWSER, root_path='/"><script>')
    assert b"<script>" not in odd.body.replace(b'<script type="module"', b"")


async def test_only_the_console_s_own_code_may_run(built: Path) -> None:
    """On every answer, and no other site may frame it (design 7)."""
    app = edge(console=built)
    for path in ["/", "/assets/index-abc.js", "/favicon.svg"]:
        answer = await call(app, "GET", path, headers=BROWSER)
        policy = answer.headers["content-security-policy"]
        assert "script-src 'self';" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"


async def test_hashed_files_are_kept_for_ever_and_others_are_asked_for(built: Path) -> None:
    """A new build has new names (design 8)."""
    app = edge(console=built)
    asset = await call(app, "GET", "/assets/index-abc.js")
    icon = await call(app, "GET", "/favicon.svg")
    assert asset.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert "javascript" in asset.headers["content-type"]
    assert icon.headers["cache-control"] == "no-cache"
    assert icon.headers["content-type"] == "image/svg+xml"
    again = await call(app, "GET", "/favicon.svg", headers={"if-none-match": icon.headers["etag"]})
    assert (again.status, again.body) == (304, b"")


async def test_a_head_has_the_headers_alone(built: Path) -> None:
    """As HTTP wants it."""
    answer = await call(edge(console=built), "HEAD", "/favicon.svg")
    assert (answer.status, answer.body) == (200, b"")
    assert answer.headers["content-length"] == "6"


@pytest.mark.parametrize(
    ("path", "headers"),
    [
        ("/assets/index-old.js", BROWSER),
        ("/missing.png", BROWSER),
        ("/api/what", {"accept": "application/json"}),
        ("/../secret.txt", BROWSER),
        ("/%2e%2e/secret.txt", BROWSER),
        ("/assets/../../secret.txt", BROWSER),
    ],
)
async def test_what_is_no_view_and_no_file_is_not_found(
    built: Path, path: str, headers: dict[str, str]
) -> None:
    """Neither a page in place of a script, nor a file from elsewhere."""
    answer = await call(edge(console=built), "GET", path, headers=headers)
    assert (answer.status, answer.json["code"]) == (404, "not_found")


async def test_the_console_does_not_stand_in_the_way_of_the_agents(built: Path) -> None:
    """Their paths are theirs, with every method (design 5)."""
    app = edge(console=built)
    assert (await call(app, "GET", "/agents", headers=BROWSER)).json["items"]
    assert (await call(app, "GET", "/agents/nobody", headers=BROWSER)).status == 404
    assert (await call(app, "DELETE", "/agents/support", headers=JSON)).status == 405
    posted = await call(app, "POST", "/", headers=JSON | BROWSER)
    assert (posted.status, posted.headers["allow"]) == (405, "GET, HEAD")


async def test_a_console_that_is_not_built_says_how_to_build_it(tmp_path: Path) -> None:
    """In words, and found as soon as it is there (design 10)."""
    app = edge(console=tmp_path / "dist")
    answer = await call(app, "GET", "/", headers=BROWSER)
    assert answer.status == 200
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert b"npm start" in answer.body
    (tmp_path / "dist").mkdir()
    (tmp_path / "dist" / "index.html").write_text(PAGE)
    assert b"<!doctype html>" in (await call(app, "GET", "/", headers=BROWSER)).body


async def test_without_a_console_nothing_is_served_at_the_root() -> None:
    """`console=False` leaves the agents (options)."""
    answer = await call(edge(), "GET", "/", headers=BROWSER)
    assert (answer.status, answer.json["code"]) == (404, "not_found")


def test_a_checkout_serves_its_own_build() -> None:
    """A wheel carries `_console` instead (design 8)."""
    folder = built_console()
    assert folder.name in ("_console", "dist")
    if folder.name == "dist":
        assert folder.parent.name == "console"


async def test_long_files_are_packed_for_who_takes_that(built: Path) -> None:
    """What a browser waits for is a third as long; others get the same bytes as they are."""
    script = "let a = 1;" * 1_000
    (built / "assets" / "long-1.js").write_text(script)
    app = edge(console=built)
    etags = set()
    for codings, packed in (
        ("gzip, deflate, br", True),
        ("br;q=1, GZIP;q=0.5", True),
        ("*", True),
        ("br", False),
        ("gzip;q=0, *", False),
        ("gzip; q=0.000", False),
        ("", False),
    ):
        sent = {"accept-encoding": codings}
        answer = await call(app, "GET", "/assets/long-1.js", headers=sent)
        assert answer.headers.get("content-encoding") == ("gzip" if packed else None), codings
        assert answer.headers["vary"] == "Accept-Encoding"
        assert int(answer.headers["content-length"]) == len(answer.body)
        assert (gzip.decompress(answer.body) if packed else answer.body).decode() == script
        head = await call(app, "HEAD", "/assets/long-1.js", headers=sent)
        assert (head.body, head.headers["content-length"]) == (b"", str(len(answer.body)))
        etags.add(etag := answer.headers["etag"])
        same = {**sent, "if-none-match": etag}
        again = await call(app, "GET", "/assets/long-1.js", headers=same)
        assert (again.status, again.headers["vary"]) == (304, "Accept-Encoding")
    assert len(etags) == 2
    short = await call(app, "GET", "/favicon.svg", headers={"accept-encoding": "gzip"})
    assert (short.body, "vary" in short.headers) == (b"<svg/>", False)
