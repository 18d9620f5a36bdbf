"""Tls: certificates for JAX's coordinator."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Tls:
    """Files in PEM: this process' certificate and key, and the authority that signed them all.

    A certificate names the host that process 0 is reached at (its subjectAltName).
    """

    certificate: str | Path
    key: str | Path
    authority: str | Path
