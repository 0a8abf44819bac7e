"""The demo as an app: the agent `ops`, also for CopilotKit, and `GET /demo/effects`."""

from collections.abc import Callable
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from sayso import Clock, CopilotKit, Sayso, ServerOptions
from sayso.base import jsonvalue
from sayso.demo.ledger import Ledger
from sayso.demo.ops import declare
from sayso.demo.sandbox import Sandbox
from sayso.demo.settings import Settings
from sayso.demo.tools import Delay, Ops, kill_worker
from sayso.http.console import EFFECTS
from sayso.stores.base import Store


def demo_app(
    settings: Settings,
    *,
    store: Store | None = None,
    clock: Clock | None = None,
    pace: Delay | None = None,
    die: Callable[[], None] = kill_worker,
) -> Sayso:
    """Make the app; the rest of the arguments is for tests.

    Raises:
        OSError: the data folder cannot be used.
        sqlite3.Error: the ledger in it cannot be used.
        DeclarationError: the store's URL names none.
    """
    folder = Path(settings.data)
    folder.mkdir(parents=True, exist_ok=True)
    ledger = Ledger(folder / "ledger.db", clock=clock)

    def effects(request: Request) -> Response:
        rows = ledger.effects(request.query_params.get("threadId"))
        return Response(jsonvalue.encode({"effects": rows}), media_type="application/json")

    app = Sayso(
        store=store or settings.store,
        server=ServerOptions(
            keep_alive=settings.keep_alive,
            hosts=settings.hosts,
            insecure_no_auth=settings.insecure_no_auth,
            origins=settings.origins,
            routes=[Route("/demo/effects", effects, methods=["GET"], name=EFFECTS)],
            clock=clock,
        ),
    )
    ops = Ops(
        app,
        ledger,
        Sandbox(folder / "sandbox"),
        expires_in=settings.expires_in,
        pace=pace or Delay(),
        die=die,
    )
    declare(app, ops)
    app.mount(CopilotKit())
    app.mount(CopilotKit("/copilotkit-legacy", emission="legacy"))
    return app
