"""A risk: something unsafe in an installation, its effect, and the remedy."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class RiskSeverity(StrEnum):
    CRITICAL = "critical"
    """Data can be lost, or read by strangers."""
    WARNING = "warning"
    """One more fault or mistake is enough."""
    NOTICE = "notice"
    """Allowed, and worth knowing."""


RISK_SEVERITIES = tuple(RiskSeverity)


@dataclass(frozen=True)
class Risk:
    id: str
    severity: RiskSeverity
    subject: str
    """The unsafe thing, with its value or path."""
    why: str
    remedy: str

    @property
    def fails(self) -> bool:
        """True if an operator should not ignore it."""
        return self.severity is not RiskSeverity.NOTICE
