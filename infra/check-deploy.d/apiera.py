"""A stand-in for Apiera's API: a token for the right client, and one product."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from deliveries import PRODUCT

CREDENTIALS = {
    "client_id": "client",
    "client_secret": "client-secret",
    "organization": "org_1",
}
TOKEN = "a-token"


class _Api(BaseHTTPRequestHandler):
    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        known = all(asked.get(name) == value for name, value in CREDENTIALS.items())
        if self.path == "/oauth/token" and known:
            self._answer(200, {"access_token": TOKEN, "expires_in": 3600})
        else:
            self._answer(403, {})

    def do_GET(self):
        if self.headers.get("authorization") != f"Bearer {TOKEN}":
            self._answer(401, {})
        elif self.path == f"/v1/products/{PRODUCT}":
            at = "2026-01-01T00:00:00Z"
            self._answer(
                200, {"sku": "SKU-1", "name": "Product", "status": "active", "updatedAt": at}
            )
        else:
            self._answer(404, {})

    def _answer(self, status, value):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Apiera:
    """The running API, a thread of this process."""

    def __enter__(self):
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _Api)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._server.server_close()
