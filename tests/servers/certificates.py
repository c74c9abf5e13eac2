"""Certificates for servers and clients of a test: an authority, and what it signs."""

from __future__ import annotations

import datetime
import ipaddress
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

_DAY = datetime.timedelta(days=1)


@dataclass(frozen=True)
class Certificate:
    """Two files: what everyone may see, and what its owner alone may."""

    file: Path
    key: Path


class Authority:
    """Signs certificates into files of a directory."""

    def __init__(self, directory: Path, name: str) -> None:
        self._directory, self._name = directory, _subject(name)
        self._key = ec.generate_private_key(ec.SECP256R1())
        signed = _builder(self._name, self._name, self._key).add_extension(x509.BasicConstraints(True, None), True)
        self.file = directory / f"{name}.pem"
        self.file.write_bytes(_pem(signed.sign(self._key, hashes.SHA256())))

    def sign(self, name: str, *hosts: str) -> Certificate:
        """For a server of these names or addresses, or for a client without any."""
        key = ec.generate_private_key(ec.SECP256R1())
        wanted = _builder(_subject(name), self._name, key).add_extension(x509.BasicConstraints(False, None), True)
        if hosts:
            wanted = wanted.add_extension(x509.SubjectAlternativeName(list(map(_host, hosts))), False)
        made = Certificate(self._directory / f"{name}.pem", self._directory / f"{name}.key")
        made.file.write_bytes(_pem(wanted.sign(self._key, hashes.SHA256())))
        made.key.touch(mode=0o600)
        made.key.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
        )
        return made


def _subject(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _builder(subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    builder = x509.CertificateBuilder().subject_name(subject).issuer_name(issuer).public_key(key.public_key())
    return (
        builder.serial_number(x509.random_serial_number()).not_valid_before(now - _DAY).not_valid_after(now + 30 * _DAY)
    )


def _host(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)
