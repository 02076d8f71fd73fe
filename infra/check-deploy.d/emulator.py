"""AWS on this machine: ministack, over TLS and with IAM enforced, so that roles and policies count.

It runs the deployed functions as its own child processes. Everything that is started here carries
the variable MARK in its environment; `stop` leaves no process that does.
"""

import ctypes
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

from report import Failed, within

MARK = "WEBHOOK_INBOX_CHECK_DEPLOY"
START_S, STOP_S = 60, 10
_PR_SET_PDEATHSIG = 1


class Emulator:
    """A running ministack. `environment` is what its clients need, and nothing of this machine's."""

    def __init__(self, work):
        self.work = Path(work).resolve()
        self.mark = secrets.token_hex(8)
        self.port = _free_port()
        self.certificate = self.work / "certificate.pem"
        self.log = self.work / "ministack.log"
        url = f"https://localhost:{self.port}"
        self.environment = {
            MARK: self.mark,
            "PATH": os.environ["PATH"],
            "LANG": "C.UTF-8",
            # Where AWS's tools would look for an account, and ministack for a state to go on with.
            "HOME": str(self.work),
            "TMPDIR": str(self.work),
            "AWS_ENDPOINT_URL": url,
            "AWS_CA_BUNDLE": str(self.certificate),
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_EC2_METADATA_DISABLED": "true",
            "SAM_CLI_TELEMETRY": "0",
        }
        self.process = None

    def __enter__(self):
        try:
            self._start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_):
        self.stop()

    def _start(self):
        key = self.work / "key.pem"
        _run("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
             "-keyout", str(key), "-out", str(self.certificate), "-subj", "/CN=localhost",
             "-addext", "basicConstraints=critical,CA:FALSE",
             "-addext", "extendedKeyUsage=serverAuth",
             "-addext", "subjectAltName=DNS:localhost,DNS:*.execute-api.localhost")  # fmt: skip
        own = {
            "GATEWAY_PORT": str(self.port),
            "AUTH": "true",
            "USE_SSL": "1",
            "MINISTACK_SSL_CERT": str(self.certificate),
            "MINISTACK_SSL_KEY": str(key),
            # The functions inherit this, and trust this certificate alone.
            "SSL_CERT_FILE": str(self.certificate),
        }
        # Not the command `ministack`: with TLS, that one takes port 443 as well.
        command = [sys.executable, "-m", "hypercorn", "-c", "python:ministack.core.hypercorn_conf"]
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [*command, "--bind", f"127.0.0.1:{self.port}", "ministack.app:app"],
                env=self.environment | own,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=_end_with_parent,
            )
        within(START_S, "ministack listens", self._listens)

    def _listens(self):
        if self.process.poll() is not None:
            raise Failed(f"ministack has ended with {self.process.returncode}")
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def stop(self):
        """Ends ministack and whatever it has started, and nothing else."""
        for sent in (signal.SIGTERM, signal.SIGKILL):
            for pid in self.processes():
                try:
                    os.kill(pid, sent)
                except ProcessLookupError:
                    pass
            until = time.monotonic() + STOP_S
            while self.processes() and time.monotonic() < until:
                time.sleep(0.1)
        left = self.processes()
        if left:
            raise Failed(f"processes are left behind: {left}")

    def processes(self):
        """The ids of the live processes that carry the mark."""
        if self.process is not None:
            self.process.poll()
        found = []
        for folder in Path("/proc").iterdir():
            if folder.name.isdigit():
                try:
                    environment = (folder / "environ").read_bytes()
                except OSError:
                    continue
                if f"{MARK}={self.mark}".encode() in environment.split(b"\0"):
                    found.append(int(folder.name))
        return found


def _free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _run(*command):
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode:
        raise Failed(f"{command[0]} {command[1]} failed: {done.stderr.strip()}")


def _end_with_parent():
    """Even if this check is killed, ministack gets a signal."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
