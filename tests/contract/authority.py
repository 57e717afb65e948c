"""A certificate authority for tests over TLS."""

from __future__ import annotations

import datetime
import ssl
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


class Authority:
    """A certificate authority, and its certificate for a server of this name or address."""

    def __init__(self, folder: Path, name: str) -> None:
        key = ec.generate_private_key(ec.SECP256R1())
        issuer = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "the authority of a test")])
        authority = self._certificate(issuer, issuer, key, key).add_extension(x509.BasicConstraints(True, None), True)
        server_key = ec.generate_private_key(ec.SECP256R1())
        host = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        names = x509.SubjectAlternativeName([_alternative(name)])
        server = self._certificate(host, issuer, server_key, key).add_extension(names, False)
        self.path = folder / "authority.pem"
        self.path.write_bytes(authority.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))
        private = server_key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        pair = folder / "server.pem"
        pair.write_bytes(private + server.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))
        self.names: list[str | None] = []
        self.server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.server.load_cert_chain(pair)
        self.server.sni_callback = lambda sock, name, context: self.names.append(name)

    @staticmethod
    def _certificate(
        subject: x509.Name,
        issuer: x509.Name,
        key: ec.EllipticCurvePrivateKey,
        issuer_key: ec.EllipticCurvePrivateKey,
    ) -> x509.CertificateBuilder:
        now = datetime.datetime.now(datetime.UTC)
        issued_by = x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key())
        return (
            x509.CertificateBuilder(issuer, subject, key.public_key(), x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(hours=1))
            .not_valid_after(now + datetime.timedelta(hours=1))
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), False)
            .add_extension(issued_by, False)
        )


def _alternative(name: str) -> x509.GeneralName:
    return x509.IPAddress(ip_address(name)) if name[0].isdigit() else x509.DNSName(name)
