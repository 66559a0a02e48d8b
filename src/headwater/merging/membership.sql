-- Memberships set by request. Whoever runs these holds the Space's lock.

-- name: set_company
-- The contact's company, or none.
UPDATE contacts c SET company_id = %(company_id)s
WHERE c.space_id = %(space_id)s AND c.id = %(contact_id)s
  AND c.company_id IS DISTINCT FROM %(company_id)s;
