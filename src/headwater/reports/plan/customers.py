"""Whom an event is of as a customer: its contact, or the whole company where it has one. Pure."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headwater.attribution.paths.path_data import Column, IntArray, PathData


@dataclass(frozen=True)
class Customers:
    """The customer of every event, as a number: a group of events."""

    by_company: bool = False
    """True when a company is one customer."""
    of_touch = False

    @property
    def columns(self) -> tuple[Column, ...]:
        return (Column.CONTACTS, *([Column.COMPANIES] if self.by_company else []))

    def keys(self, paths: PathData) -> IntArray:
        """Return the number of every event's customer. Where there are both, contacts have even
        numbers and companies odd ones.
        """
        contacts = paths[Column.CONTACTS]
        if not self.by_company:
            return contacts
        companies = paths[Column.COMPANIES].astype(np.int64)
        return np.where(companies != 0, 2 * companies + 1, 2 * contacts.astype(np.int64))


CONTACTS = Customers()
"""Each contact a customer of its own."""
