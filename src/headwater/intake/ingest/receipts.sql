-- name: receipt
-- Replaced events and their duplicates lead to the replacement. A rejected payload may be invalid JSON.
SELECT 'queued' AS status, NULL::bigint AS event_id, NULL::text AS reason, sender,
       ARRAY(SELECT json_array_elements_text(payload::json -> 'warnings')) AS warnings
FROM inbox WHERE space_id = %(space_id)s AND id = %(id)s
UNION ALL
SELECT 'stored', id, array_to_string(warnings, '; '), sender, warnings
FROM events WHERE space_id = %(space_id)s AND id = %(id)s
UNION ALL
SELECT 'stored', NULL, array_to_string(warnings, '; '), sender, warnings
FROM touchpoints WHERE space_id = %(space_id)s AND id = %(id)s AND sent
UNION ALL
SELECT 'stored', NULL, NULL, 'browser', NULL
FROM hits WHERE space_id = %(space_id)s AND id = %(id)s
UNION ALL
SELECT 'duplicate',
       coalesce((SELECT next.event_id FROM duplicates next
                 WHERE next.space_id = %(space_id)s AND next.id = d.event_id), d.event_id),
       d.reason, d.sender, NULL
FROM duplicates d WHERE d.space_id = %(space_id)s AND d.id = %(id)s
UNION ALL
SELECT 'queued', NULL, 'waits_for_order', r.refund ->> 'sender', NULL
FROM order_refunds o, jsonb_array_elements(o.counted) AS r (refund)
WHERE o.space_id = %(space_id)s AND o.waiting_since IS NOT NULL
  AND (r.refund -> 'receipt')::bigint = %(id)s
UNION ALL
SELECT 'rejected', NULL, reason, sender,
       ARRAY(SELECT json_array_elements_text(
           CASE WHEN payload IS JSON OBJECT THEN payload::json -> 'warnings' END))
FROM rejected WHERE space_id = %(space_id)s AND id = %(id)s
LIMIT 1;
