-- name: append
-- Store accepted rows in the order given and return their receipts. The payloads are lines:
-- JSON text holds no newline.
INSERT INTO inbox (space_id, kind, received_at, payload)
SELECT given.space_id, given.kind, %(received_at)s, given.payload
FROM ROWS FROM (unnest(%(spaces)s::bigint[]), unnest(%(kinds)s::text[]),
                string_to_table(%(payloads)s, E'\n'))
     WITH ORDINALITY AS given (space_id, kind, payload, position)
ORDER BY given.position
RETURNING id;

-- name: receipt
-- What became of one accepted request, wherever it is now.
-- A payload that was set aside may be no JSON.
SELECT 'queued' AS status, NULL::bigint AS event_id, NULL::text AS reason,
       ARRAY(SELECT json_array_elements_text(payload::json -> 'warnings')) AS warnings
FROM inbox WHERE space_id = %(space_id)s AND id = %(id)s
UNION ALL
SELECT 'stored', id, array_to_string(warnings, '; '), warnings
FROM events WHERE space_id = %(space_id)s AND id = %(id)s
UNION ALL
SELECT 'stored', NULL, array_to_string(warnings, '; '), warnings
FROM touchpoints WHERE space_id = %(space_id)s AND id = %(id)s AND sent
UNION ALL
SELECT 'stored', NULL, NULL, NULL
FROM hits WHERE space_id = %(space_id)s AND id = %(id)s
UNION ALL
SELECT 'duplicate', event_id, reason, NULL
FROM duplicates WHERE space_id = %(space_id)s AND id = %(id)s
UNION ALL
SELECT 'rejected', NULL, reason,
       ARRAY(SELECT json_array_elements_text(
           CASE WHEN payload IS JSON OBJECT THEN payload::json -> 'warnings' END))
FROM rejected WHERE space_id = %(space_id)s AND id = %(id)s
LIMIT 1;
