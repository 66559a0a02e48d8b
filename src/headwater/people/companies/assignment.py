from __future__ import annotations

from headwater.people.companies.domains import readable_domain


class Company:
    """A new one has `id` 0 until its id is drawn."""

    __slots__ = ("created_at", "domain", "external_id", "id", "is_changed", "name")

    def __init__(self, company_id: int, name: str = "") -> None:
        self.id = company_id
        self.name = name
        self.domain: str | None = None
        self.external_id: str | None = None
        self.created_at = 0
        self.is_changed = False


class Companies:
    def __init__(self) -> None:
        self.created: list[Company] = []
        self._by_id: dict[int, Company] = {}
        self._by_domain: dict[str, Company] = {}
        self._by_external_id: dict[str, Company] = {}

    def add_stored(self, row: tuple[int, str | None, str | None, str]) -> None:
        """Add a stored company: id, domain, external id, name."""
        company = self.by_id(row[0])
        _, company.domain, company.external_id, company.name = row
        if company.domain is not None:
            self._by_domain[company.domain] = company
        if company.external_id is not None:
            self._by_external_id[company.external_id] = company

    def by_id(self, company_id: int) -> Company:
        """Return a company that may not be loaded."""
        company = self._by_id.get(company_id)
        if company is None:
            company = self._by_id[company_id] = Company(company_id)
        return company

    def get_by_domain(self, domain: str, received_at: int) -> Company:
        company = self._by_domain.get(domain)
        if company is None:
            company = self._by_domain[domain] = self._create(readable_domain(domain), received_at)
            company.domain = domain
        return company

    def get_by_external_id(
        self, external_id: str, name: str | None, received_at: int, *, rename: bool = True
    ) -> Company:
        """Return or create a company. `rename=False` keeps a stored name."""
        company = self._by_external_id.get(external_id)
        if company is None:
            company = self._create(name or external_id, received_at)
            company.external_id = external_id
            self._by_external_id[external_id] = company
        elif rename and name is not None and company.name != name:
            company.name, company.is_changed = name, True
        return company

    def list_changed(self) -> list[Company]:
        return [company for company in self._by_id.values() if company.is_changed]

    def _create(self, name: str, received_at: int) -> Company:
        company = Company(0, name)
        company.created_at = received_at
        self.created.append(company)
        return company
