"""Tls: certificates for JAX's coordinator."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Tls:
    """Files in PEM: this process' certificate and key, and the authority that signed them all."""

    certificate: str
    key: str
    authority: str
