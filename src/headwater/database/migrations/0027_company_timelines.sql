-- A company's events in order of time, and its contacts in order of their ids: pages of either are
-- read as far as they go, however large the company is.

CREATE INDEX events_company_time ON events (space_id, company_id, event_time, id)
    WHERE company_id IS NOT NULL;
DROP INDEX events_company;
CREATE INDEX contacts_company_id ON contacts (space_id, company_id, id)
    WHERE company_id IS NOT NULL;
DROP INDEX contacts_company;
