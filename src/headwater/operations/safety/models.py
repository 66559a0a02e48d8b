"""A risk: something in an installation that is unsafe, why that matters, and what to do."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class RiskSeverity(StrEnum):
    """The severity of a risk, the worst first."""

    CRITICAL = "critical"
    """Data can be lost, or read by strangers."""
    WARNING = "warning"
    """One more fault, or one more mistake, is enough."""
    NOTICE = "notice"
    """Allowed, and worth knowing."""


RISK_SEVERITIES = tuple(RiskSeverity)


@dataclass(frozen=True)
class Risk:
    """One thing that is unsafe."""

    id: str
    """What kind of risk it is, for programs."""
    severity: RiskSeverity
    subject: str
    """What it is that is unsafe, with its value or path."""
    why: str
    remedy: str

    @property
    def fails(self) -> bool:
        """True for a risk that an operator should not leave as it is."""
        return self.severity is not RiskSeverity.NOTICE
