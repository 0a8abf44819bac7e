"""The demo as an app: the agent `ops`, also for CopilotKit, and `GET /demo/effects`.

With a model the agent `assistant` stands beside it.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from sayso import Clock, CopilotKit, Sayso, ServerOptions
from sayso.base import jsonvalue
from sayso.demo.assistant import chat_model, declare_assistant
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
        DeclarationError: the store's URL names none, or that of a model leads nowhere.
        CannotStart: a model is named, and nothing says where it is.
    """
    folder = Path(settings.data)
    folder.mkdir(parents=True, exist_ok=True)
    ledger = Ledger(folder / "ledger.db", clock=clock)

    model = chat_model(settings, ledger)

    def effects(request: Request) -> Response:
        shown: dict[str, Any] = {"effects": ledger.effects(request.query_params.get("threadId"))}
        if model is not None:
            shown["model"] = {"name": model.name, "asked": ledger.asked()}
        return Response(jsonvalue.encode(shown), media_type="application/json")

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
    if model is not None and settings.model:  # it was asked for, so it comes first
        declare_assistant(app, ops, model)
    declare(app, ops)
    if model is not None and not settings.model:
        declare_assistant(app, ops, model)
    app.mount(CopilotKit())
    app.mount(CopilotKit("/copilotkit-legacy", emission="legacy"))
    return app
