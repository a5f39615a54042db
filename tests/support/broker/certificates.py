"""Certificates for the test broker and its clients, made by openssl in a moment and good for two days."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tests.support.broker.processes import run

OPENSSL_SECONDS = 300.0
DAYS = "2"


@dataclass(frozen=True)
class Identity:
    """A certificate and its private key."""

    certificate_file: Path
    key_file: Path
    """In the clear."""

    def in_one_file(self) -> Path:
        """Key and certificate in one file, as Kafka wants them."""
        both = self.certificate_file.with_suffix(".both.pem")
        both.write_bytes(self.key_file.read_bytes() + self.certificate_file.read_bytes())
        return both

    def locked_key(self, password: str) -> Path:
        """Another file of the key, which opens with a password."""
        locked = self.key_file.with_suffix(".locked.key")
        _openssl("pkcs8", "-topk8", "-in", self.key_file, "-out", locked, "-passout", f"pass:{password}")
        return locked


class Authority:
    """One who signs certificates: everything is in its folder."""

    def __init__(self, folder: Path, name: str) -> None:
        self._folder = folder
        self._key = folder / f"{name}.key"
        self.certificate_file = folder / f"{name}.pem"
        """What clients trust."""
        _openssl("req", "-x509", *_new_key(self._key, name), "-days", DAYS, "-out", self.certificate_file)

    def sign(self, name: str, alternatives: str = "") -> Identity:
        """A new identity; `alternatives` are the addresses it is valid for, as "IP:127.0.0.1,DNS:localhost"."""
        made = Identity(self._folder / f"{name}.pem", self._folder / f"{name}.key")
        request = self._folder / f"{name}.request"
        extensions = self._folder / f"{name}.extensions"
        extensions.write_text(f"subjectAltName={alternatives}\n" if alternatives else "", encoding="utf-8")
        _openssl("req", *_new_key(made.key_file, name), "-out", request)
        signer: list[str | Path] = ["-CA", self.certificate_file, "-CAkey", self._key, "-CAcreateserial", "-days", DAYS]
        _openssl("x509", "-req", "-in", request, *signer, "-extfile", extensions, "-out", made.certificate_file)
        return made


def _new_key(key: Path, name: str) -> list[str | Path]:
    return ["-newkey", "rsa:2048", "-nodes", "-keyout", key, "-subj", f"/CN={name}"]


def _openssl(*arguments: str | Path) -> None:
    run(["openssl", *map(str, arguments)], f"openssl {arguments[0]}", OPENSSL_SECONDS)
