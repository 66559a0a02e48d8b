-- name: exchanged
-- The converted amounts, in ten-thousandths, of events `{event}` in other currencies or too large for sums;
-- null if not counted.
LEFT JOIN unnest(%(exchanged_ids)s::bigint[], %(exchanged_amounts)s::bigint[]) AS x (id, amount)
    ON x.id = {event}.id

-- name: space_amount
, CASE WHEN x.id IS NULL THEN {event}.amount ELSE x.amount * 0.0001 END AS space_amount

-- name: amount
e.id, (e.amount * 10000)::bigint, coalesce(e.currency, s.currency), s.currency, e.event_time, s.timezone,
coalesce(e.sender IN ('browser', 'signed_browser'), false) AND NOT e.amount_confirmed

-- name: is_foreign
(e.currency <> s.currency OR abs(e.amount) > %(certain)s) AND e.amount IS NOT NULL

-- name: among
SELECT {amount}
FROM unnest(%(event_ids)s::bigint[]) AS chosen (id)
CROSS JOIN LATERAL (
    SELECT known.* FROM events known
    WHERE known.space_id = %(space_id)s AND known.id >= chosen.id
    ORDER BY known.id LIMIT 1
) e
JOIN spaces s ON s.id = %(space_id)s
WHERE e.id = chosen.id
  AND {is_foreign};

-- name: of_selection
-- The foreign amounts of a selection.
SELECT {amount}
FROM events e
JOIN spaces s ON s.id = %(space_id)s
WHERE e.space_id = %(space_id)s AND {condition}
  AND {is_foreign};
