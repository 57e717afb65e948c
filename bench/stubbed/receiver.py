"""A receiver of webhooks over TLS in a process of its own: it accepts each at once, so that the sender's CPU counts."""

from __future__ import annotations

import datetime
import ipaddress
import ssl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from socketserver import StreamRequestHandler, ThreadingTCPServer
from tempfile import TemporaryDirectory
from threading import Thread
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

NAME = "hooks.example.com"
_ANSWER = (
    b"HTTP/1.1 200 OK\r\nServer: nginx\r\nDate: Sat, 21 Nov 2026 00:00:00 GMT\r\nContent-Type: application/json\r\n"
    b'Content-Length: 15\r\nConnection: keep-alive\r\nX-Request-Id: 8SUC3PQP1QEBGS8G\r\n\r\n{"taken": true}'
)


@contextmanager
def receiver() -> Iterator[tuple[int, ssl.SSLContext]]:
    """The port of a running receiver on 127.0.0.1 whose name is NAME, and a context that trusts it."""
    with TemporaryDirectory() as folder:
        pair = Path(folder) / "pair.pem"
        certificate = certify(pair)
        with subprocess.Popen(
            [sys.executable, "-m", "bench.stubbed.receiver", str(pair)],
            cwd=Path(__file__).parents[2],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            try:
                yield int(process.stdout.readline()), ssl.create_default_context(cadata=certificate)
            finally:
                process.stdin.close()


def certify(pair: Path) -> str:
    """A certificate for NAME and 127.0.0.1, with its key in the file `pair`."""
    key, name = ec.generate_private_key(ec.SECP256R1()), x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, NAME)])
    now, hour = datetime.datetime.now(datetime.UTC), datetime.timedelta(hours=1)
    names = [x509.DNSName(NAME), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    own = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - hour)
        .not_valid_after(now + 24 * hour)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(own, critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(own), critical=False)
        .sign(key, hashes.SHA256())
        .public_bytes(serialization.Encoding.PEM)
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    pair.write_bytes(private + made)
    return made.decode()


class _Server(ThreadingTCPServer):
    daemon_threads = True
    request_queue_size = 64

    def __init__(self, pair: str) -> None:
        self._tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._tls.load_cert_chain(pair)
        super().__init__(("127.0.0.1", 0), _Connection)

    def finish_request(self, request: Any, client_address: Any) -> None:
        super().finish_request(self._tls.wrap_socket(request, server_side=True), client_address)


class _Connection(StreamRequestHandler):
    """Accepts one webhook after the other."""

    def handle(self) -> None:
        while self.rfile.readline():
            length = 0
            while line := self.rfile.readline().strip():
                name, _, value = line.partition(b":")
                if name.lower() == b"content-length":
                    length = int(value)
            self.rfile.read(length)
            self.wfile.write(_ANSWER)


def main() -> None:
    """Serve with the key and certificate of a file, on the port printed, until standard input is closed."""
    server = _Server(sys.argv[1])
    Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_address[1], flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
