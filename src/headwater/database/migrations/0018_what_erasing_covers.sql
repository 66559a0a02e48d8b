-- More that is remembered of a person, and erased with them.

-- E-mail addresses that an update of a contact replaced or wiped stay as identifiers of a kind that
-- nothing looks up but a request to erase a person.

ALTER TABLE contact_identifiers
    DROP CONSTRAINT contact_identifiers_kind_check,
    ADD CONSTRAINT contact_identifiers_kind_check CHECK (kind IN
        ('email', 'former_email', 'tracking_id', 'trk_token', 'fingerprint', 'phone', 'name',
         'location'));

-- A merged contact keeps its primary address in its row, even where an update of the survivor has
-- wiped it since: that much of the history is still known.
INSERT INTO contact_identifiers
    (space_id, kind, value, contact_id, origin_id, first_seen_at, last_seen_at, since, recency)
SELECT c.space_id, 'former_email', c.email, c.merged_into, c.id, c.created_at, c.created_at,
       drawn.receipt, drawn.receipt
FROM contacts c
CROSS JOIN LATERAL (SELECT nextval('receipt_ids') AS receipt WHERE c.id IS NOT NULL) drawn
WHERE c.merged_into IS NOT NULL AND c.email IS NOT NULL
  AND NOT EXISTS (
    SELECT FROM contact_identifiers i
    WHERE i.space_id = c.space_id AND i.kind = 'email' AND i.value = c.email
      AND i.contact_id = c.merged_into);

-- Warnings quote the names that a sender gave to what is no field, among which there may be anything:
-- as of all columns that can hold personal data, PostgreSQL keeps no samples of them.
ALTER TABLE events ALTER COLUMN warnings SET STATISTICS 0;
ALTER TABLE touchpoints ALTER COLUMN warnings SET STATISTICS 0;
