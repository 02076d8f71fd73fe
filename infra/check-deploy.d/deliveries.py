"""What the three producers send, signed as each signs, and how it is brought to the door."""

import base64
import hashlib
import hmac
import http.client
import json
import socket
import ssl
import time
from dataclasses import dataclass
from urllib.parse import urlsplit

PRODUCT = "123e4567-e89b-12d3-a456-426614174001"


@dataclass(frozen=True)
class Event:
    """One event of a producer. It is signed anew each time that it is delivered."""

    source: str
    id: str
    body: str

    @property
    def key(self):
        """Its row's key."""
        return f"{self.source}#{self.id}"


def payment(id, amount_cents):
    """Kudos: an event of an ordered source, with two effects."""
    data = {"tenant": "acme", "amount_cents": amount_cents, "currency": "EUR"}
    body = {"event_id": id, "event_type": "payment.succeeded", "data": data}
    return Event("kudos", id, json.dumps(body))


def session(id, session_id):
    """Kallglot: an event with a stale guard."""
    body = {
        "id": id,
        "type": "session.started",
        "api_version": "v1",
        "created_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "data": {"id": session_id, "object": "session", "status": "started"},
    }
    return Event("kallglot", id, json.dumps(body))


def product(id):
    """Apiera: a thin event, whose handler asks Apiera's API."""
    return Event("apiera", id, json.dumps({"productUuid": PRODUCT}))


def signed(event, secret):
    """The headers of one delivery, now."""
    t = str(int(time.time()))
    if event.source == "apiera":
        signature = _hmac(secret, f"{event.id}.{t}.{event.body}").digest()
        return {
            "webhook-id": event.id,
            "webhook-timestamp": t,
            "webhook-signature": "v1," + base64.b64encode(signature).decode(),
            "x-webhook-event-type": "product.created",
        }
    header = {"kudos": "x-kudos-signature", "kallglot": "kallglot-signature"}[event.source]
    return {header: f"t={t},v1={_hmac(secret, f'{t}.{event.body}').hexdigest()}"}


def _hmac(secret, text):
    # As it is written, but for Standard Webhooks: there it is base64 behind a prefix.
    prefix, encoded = secret[:6], secret[6:]
    key = base64.b64decode(encoded) if prefix == "whsec_" else secret.encode()
    return hmac.new(key, text.encode(), hashlib.sha256)


class _Door(http.client.HTTPSConnection):
    """`*.localhost` is this machine, whether its resolver knows that or not."""

    def __init__(self, address, certificate):
        self._trust = ssl.create_default_context(cafile=certificate)
        super().__init__(address.hostname, address.port, timeout=30, context=self._trust)

    def connect(self):
        plain = socket.create_connection(("127.0.0.1", self.port), self.timeout)
        self.sock = self._trust.wrap_socket(plain, server_hostname=self.host)


def post(url, certificate, body, headers):
    """(status, body) of a POST."""
    address = urlsplit(url)
    door = _Door(address, certificate)
    try:
        all_headers = {"content-type": "application/json", **headers}
        door.request("POST", address.path, body.encode(), all_headers)
        answer = door.getresponse()
        return answer.status, answer.read().decode()
    finally:
        door.close()
