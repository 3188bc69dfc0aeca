"""How a service is reached: whose certificates are trusted, where a token may go, and what a failed connection means."""

from __future__ import annotations

import ipaddress
import json
import os
import pathlib
import ssl
from typing import Any

import httpx

from kernelwright.service_calls import HTTP_TIMEOUT_SECONDS, Again
from kernelwright.verdict import NoVerdict

CA_VARIABLE = "SSL_CERT_FILE"


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _trusted(ca_file: str | None) -> ssl.SSLContext:
    """With the certificates of ca_file alone, else those of SSL_CERT_FILE, else the system's."""
    path = ca_file or os.environ.get(CA_VARIABLE) or None
    try:
        return ssl.create_default_context(cafile=path)
    except OSError as error:  # ssl.SSLError is one
        raise ValueError(f"{path}: no certificates in PEM: {error}") from None


def _is_address_file(word: str) -> bool:
    return not word.startswith(("http://", "https://")) and ("/" in word or word.endswith(".json"))


def _tls_error(error: BaseException | None) -> ssl.SSLError | None:
    seen = 0
    while error is not None and seen < 10:
        if isinstance(error, ssl.SSLError):
            return error
        error, seen = error.__cause__ or error.__context__, seen + 1
    return None


class Server:
    """Where a service is: at a URL, or where the address file says that its server writes (docs/launch.md). Raises
    ValueError for a bad ca_file, and for a token that would be sent over http to another machine."""

    def __init__(self, address: str, token: str | None, ca_file: str | None, allow_plaintext: bool):
        self.address = address
        self._follows = _is_address_file(address)
        self._token, self._ca_file, self._allow_plaintext = token, ca_file, allow_plaintext
        self._text: str | None = None  # of the file, as it was last read
        if not self._follows:
            self.client_arguments()

    def client_arguments(self) -> dict[str, Any]:
        """Of httpx.Client and AsyncClient. Raises Again while there is no address file."""
        if not self._follows:
            return self._arguments(self.address, _trusted(self._ca_file) if self.address.startswith("https") else None)
        try:
            self._text = self._read()
        except OSError as error:
            raise Again(f"no server has written its address yet: {error}") from None
        try:
            found = json.loads(self._text)
            url, certificate = found["url"], found.get("certificate")
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise NoVerdict(f"{self.address}: no address of a server: {error!r}") from None
        return self._arguments(url, ssl.create_default_context(cadata=certificate) if certificate else _trusted(self._ca_file))

    def has_moved(self) -> bool:
        """After a failed call: whether the address file says something else now."""
        try:
            return self._follows and self._read() != self._text
        except OSError:
            return False

    def failure(self, error: httpx.TransportError) -> Exception:
        """Again for what may pass; NoVerdict for a certificate that is not trusted and a server that does not speak TLS.
        What is at the address that a file names may be another server, until the right one has come back."""
        tls = _tls_error(error)
        if not self._follows and isinstance(tls, ssl.SSLCertVerificationError):
            return NoVerdict(f"{self.address}: the TLS certificate is not trusted: {tls.verify_message}")
        if not self._follows and tls is not None and tls.reason == "WRONG_VERSION_NUMBER":
            return NoVerdict(f"{self.address}: the server does not speak TLS: the URL must begin with http://")
        return Again(f"{self.address}: {error or type(error).__name__}")

    def _read(self) -> str:
        return pathlib.Path(self.address).read_text(encoding="utf-8")

    def _arguments(self, url: str, trusted: ssl.SSLContext | None) -> dict[str, Any]:
        parsed = httpx.URL(url)
        if self._token and parsed.scheme == "http" and not _is_loopback(parsed.host) and not self._allow_plaintext:
            raise ValueError(f"{url}: the token would be sent over http to another machine: use https://, or allow_plaintext=True")
        return {
            "base_url": url,
            "headers": {"Authorization": f"Bearer {self._token}"} if self._token else {},
            "timeout": HTTP_TIMEOUT_SECONDS,
            "trust_env": False,
            "verify": trusted or True,
        }
