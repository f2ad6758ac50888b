"""A server of vectors for peers whose only port for another encoder is OpenAI's embeddings protocol."""

from __future__ import annotations

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

from benchmarks.peers.vectors import Vectors


def serve(vectors: Vectors) -> str:
    """Answer on a free port of the loopback until the process ends; return the address.

    A request costs about a millisecond, which the peer's times include.
    """

    class Embeddings(BaseHTTPRequestHandler):
        """`POST /v1/embeddings` with the texts in `input`."""

        def do_POST(self) -> None:
            asked: Any = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            rows = [{"index": i, "embedding": vectors.of(text)} for i, text in enumerate(asked["input"])]
            body = json.dumps({"data": rows}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            """Say nothing; the base class would write each request to standard error."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Embeddings)
    Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}"
