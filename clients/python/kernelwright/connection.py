"""How a service is reached: whose certificates are trusted, where a token may go, and what a failed connection means."""

from __future__ import annotations

import ipaddress
import os
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


def client_arguments(url: str, token: str | None, ca_file: str | None, allow_plaintext: bool) -> dict[str, Any]:
    """Of httpx.Client and AsyncClient. Raises ValueError for a bad ca_file, and for a token that would be sent over
    http to another machine."""
    parsed = httpx.URL(url)
    if token and parsed.scheme == "http" and not _is_loopback(parsed.host) and not allow_plaintext:
        raise ValueError(f"{url}: the token would be sent over http to another machine: use https://, or allow_plaintext=True")
    return {
        "base_url": url,
        "headers": {"Authorization": f"Bearer {token}"} if token else {},
        "timeout": HTTP_TIMEOUT_SECONDS,
        "trust_env": False,
        "verify": _trusted(ca_file) if parsed.scheme == "https" else True,
    }


def _tls_error(error: BaseException | None) -> ssl.SSLError | None:
    seen = 0
    while error is not None and seen < 10:
        if isinstance(error, ssl.SSLError):
            return error
        error, seen = error.__cause__ or error.__context__, seen + 1
    return None


def failure(url: str, error: httpx.TransportError) -> Exception:
    """Again for what may pass; NoVerdict for a certificate that is not trusted and a server that does not speak TLS."""
    tls = _tls_error(error)
    if isinstance(tls, ssl.SSLCertVerificationError):
        return NoVerdict(f"{url}: the TLS certificate is not trusted: {tls.verify_message}")
    if tls is not None and tls.reason == "WRONG_VERSION_NUMBER":
        return NoVerdict(f"{url}: the server does not speak TLS: the URL must begin with http://")
    return Again(f"{url}: {error or type(error).__name__}")
