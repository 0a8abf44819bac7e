"""An endpoint of AG-UI on a port of its own, which says again what it heard."""

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from types import TracebackType
from typing import Any, Self


class Endpoint:
    """The endpoint; what it was sent."""

    def __init__(self) -> None:
        self.bodies: list[dict[str, Any]] = []
        self.headers: list[Any] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                outer.bodies.append(body)
                outer.headers.append(self.headers)
                self.send_response(200)
                self.send_header("content-type", "text/event-stream")
                self.end_headers()
                for event in _events(body):
                    self.wfile.write(f"data: {json.dumps(event)}\n\n".encode())

            def log_message(self, *_: Any) -> None:
                """Nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/agent"

    def __enter__(self) -> Self:
        self._thread = Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


def _events(body: dict[str, Any]) -> list[dict[str, Any]]:
    run = {"threadId": body["threadId"], "runId": body["runId"]}
    message = {"messageId": f"m-{body['runId']}"}
    words = f"You said {body['messages'][-1]['content']}."
    return [
        {"type": "RUN_STARTED", **run},
        {"type": "TEXT_MESSAGE_START", **message, "role": "assistant"},
        {"type": "TEXT_MESSAGE_CONTENT", **message, "delta": words},
        {"type": "TEXT_MESSAGE_END", **message},
        {"type": "RUN_FINISHED", **run},
    ]
