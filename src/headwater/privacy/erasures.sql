-- name: request
-- A receipt number marks its position in the order of arrival.
INSERT INTO erasures (space_id, contact_id, receipt_mark)
VALUES (%(space_id)s, %(contact_id)s, nextval('receipt_ids'));

-- name: list
SELECT e.id, e.contact_id, e.requested_at, e.attempts, e.retry_at, e.last_error, e.erased_at
FROM erasures e
WHERE e.space_id = %(space_id)s
ORDER BY e.id DESC
LIMIT %(limit)s;

-- name: due
-- For the operator.
SELECT DISTINCT e.space_id FROM erasures e
WHERE e.erased_at IS NULL AND e.retry_at <= now()
  AND NOT EXISTS (
    SELECT x.id FROM exports x
    WHERE x.space_id = e.space_id AND x.status = 'processing' AND x.was_withdrawn
      AND NOT has_come(x.leased_until, %(lease)s));

-- name: newest
-- For the operator: unfinished ones.
SELECT max(e.requested_at) FROM erasures e WHERE e.erased_at IS NULL;

-- name: any_up_to
-- For the operator: unfinished, requested up to a moment.
SELECT e.id FROM erasures e
WHERE e.erased_at IS NULL AND e.requested_at <= %(requested_at)s
LIMIT 1;

-- name: next
-- The Space's oldest due erasure; no row while an export that erasures have restarted is finishing.
SELECT e.id, e.contact_id, e.receipt_mark, e.attempts
FROM erasures e
WHERE e.space_id = %(space_id)s AND e.erased_at IS NULL AND e.retry_at <= now()
  AND NOT EXISTS (
    SELECT x.id FROM exports x
    WHERE x.space_id = %(space_id)s AND x.status = 'processing' AND x.was_withdrawn
      AND NOT has_come(x.leased_until, %(lease)s))
ORDER BY e.id
LIMIT 1;

-- name: waits
SELECT EXISTS (SELECT FROM inbox i WHERE i.space_id = %(space_id)s AND i.id <= %(receipt_mark)s);

-- name: clock
-- Not the transaction's time: the journal searches for changes since its last pass.
SELECT clock_timestamp();

-- name: done
UPDATE erasures e SET erased_at = %(now)s, last_error = NULL
WHERE e.space_id = %(space_id)s AND e.id = %(id)s;

-- name: put_off
-- After a growing pause.
UPDATE erasures e
SET attempts = e.attempts + 1, last_error = %(last_error)s,
    retry_at = now() + %(pause)s
WHERE e.space_id = %(space_id)s AND e.id = %(id)s
RETURNING e.attempts;

-- name: changed
-- For the operator. In an older copy of the database the contacts may not be merged, or wait as receipts
-- without a contact.
SELECT e.space_id, e.id AS erasure_id, ARRAY(
           SELECT c.id FROM contacts c WHERE c.space_id = e.space_id AND c.id = survivor.id
           UNION
           SELECT c.id FROM contacts c WHERE c.space_id = e.space_id AND c.merged_into = survivor.id
           ORDER BY 1
       ) AS contact_ids, ARRAY(
           SELECT min(l.id) FROM events l
           WHERE l.space_id = e.space_id AND l.contact_id = survivor.id
           GROUP BY l.origin_id
           UNION
           SELECT min(l.id) FROM touchpoints l
           WHERE l.space_id = e.space_id AND l.contact_id = survivor.id
           GROUP BY l.origin_id
           ORDER BY 1
       ) AS receipt_ids, e.requested_at, e.erased_at
FROM erasures e
CROSS JOIN LATERAL (
    SELECT coalesce(n.merged_into, n.id) AS id FROM contacts n
    WHERE n.space_id = e.space_id AND n.id = e.contact_id) survivor
WHERE e.requested_at >= %(since)s OR e.erased_at >= %(since)s
ORDER BY e.requested_at, e.id;

-- name: request_again
-- For the operator: once each, for contacts in this database without a known erasure.
INSERT INTO erasures (space_id, contact_id, receipt_mark)
SELECT DISTINCT c.space_id, coalesce(c.merged_into, c.id), %(receipt_mark)s
FROM jsonb_to_recordset(%(erasures)s::jsonb)
    AS past (space_id bigint, erasure_id bigint, contact_ids bigint[], receipt_ids bigint[],
             requested_at timestamptz)
CROSS JOIN LATERAL (
    SELECT unnest(past.contact_ids)
    UNION
    SELECT l.contact_id FROM events l
    WHERE l.space_id = past.space_id AND l.id = ANY(past.receipt_ids)
    UNION
    SELECT l.contact_id FROM touchpoints l
    WHERE l.space_id = past.space_id AND l.id = ANY(past.receipt_ids)
) AS concerned (contact_id)
JOIN contacts c ON c.space_id = past.space_id AND c.id = concerned.contact_id
WHERE NOT EXISTS (
    SELECT 1 FROM erasures known
    WHERE known.space_id = past.space_id AND known.id = past.erasure_id
      AND known.requested_at = past.requested_at
      AND coalesce((SELECT n.merged_into FROM contacts n
                    WHERE n.space_id = known.space_id AND n.id = known.contact_id),
                   known.contact_id) = coalesce(c.merged_into, c.id));

-- name: unprocessed
-- For the operator: Spaces where receipts of erasures wait without a contact.
SELECT DISTINCT i.space_id
FROM jsonb_to_recordset(%(erasures)s::jsonb) AS past (space_id bigint, receipt_ids bigint[])
JOIN inbox i ON i.space_id = past.space_id AND i.id = ANY(past.receipt_ids);

-- name: mark
-- Earlier receipts are processed first.
SELECT nextval('receipt_ids');

-- name: waiting
-- For the operator: unfinished ones.
SELECT count(*) FROM erasures e WHERE e.erased_at IS NULL;
