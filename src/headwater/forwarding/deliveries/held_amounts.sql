-- name: amounts
-- By currency, of the conversions `o`.
SELECT o.sent_currency AS currency, count(*) AS conversions, trim_scale(sum(o.sent_amount)) AS sent,
       trim_scale(sum(o.sent_amount - held.amount)) AS corrected, trim_scale(sum(worth.amount)) AS ledger,
       trim_scale(sum(held.amount - worth.amount)) AS overcounted,
       trim_scale(coalesce(sum(held.amount - worth.amount) FILTER (WHERE waits.it), 0)) AS waiting
FROM deliveries o
JOIN json_to_recordset(%(platforms)s::json) AS p (accepted text) ON true
LEFT JOIN LATERAL ({held}) c ON true
LEFT JOIN LATERAL ({worth}) w ON true
CROSS JOIN LATERAL (
    SELECT CASE WHEN c.currency IS NULL THEN o.sent_amount
                WHEN c.currency = o.sent_currency THEN coalesce(c.amount, 0) ELSE 0 END AS amount
) held
CROSS JOIN LATERAL (SELECT CASE WHEN w.currency = o.sent_currency THEN w.amount ELSE 0 END AS amount) worth
CROSS JOIN LATERAL (
    SELECT p.accepted = 'counted' AND o.status = 'delivered' AND o.finished_at > now() - interval '14 days'
           OR EXISTS (SELECT FROM deliveries c
                      WHERE c.space_id = %(space_id)s AND c.event_id = o.event_id
                        AND c.destination_id = o.destination_id AND c.kind = 'correction'
                        AND (c.status IN ('queued', 'retrying')
                             OR c.status = 'delivered' AND p.accepted <> 'delivered')) AS it
) waits
WHERE o.space_id = %(space_id)s AND o.destination_id = %(destination_id)s
  AND o.id BETWEEN %(first_id)s AND %(last_id)s AND o.created_at >= %(start)s
  AND o.kind = 'conversion' AND o.status IN ('delivered', 'counted') AND o.sent_currency IS NOT NULL
GROUP BY 1 ORDER BY count(*) DESC, 1;
