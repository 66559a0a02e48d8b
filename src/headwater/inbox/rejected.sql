-- name: page
-- Rows set aside, the latest first, without what they hold, which may be anybody's.
SELECT (SELECT row_to_json(line)::text FROM (
            SELECT r.id::text AS receipt_id, r.kind, r.reason, r.detail,
                   iso_utc(r.received_at) AS received_at, iso_utc(r.rejected_at) AS rejected_at
       ) line), r.id
FROM rejected r
WHERE r.space_id = %(space_id)s AND r.id < %(before)s
ORDER BY r.id DESC
LIMIT %(limit)s;
