-- name: snapshot
-- Both periods and all pending paths come from one snapshot.
SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY;

-- name: patience
-- Set the statement timeout in milliseconds.
SELECT set_config('statement_timeout', %(patience)s, true);

-- name: ends
-- The start of the transaction, the times of the first and last event, and whether the latest %(latest)s
-- events include a purchase.
SELECT now(),
       (SELECT e.event_time FROM events e WHERE e.space_id = %(space_id)s
        ORDER BY e.event_time LIMIT 1),
       (SELECT e.event_time FROM events e WHERE e.space_id = %(space_id)s
        ORDER BY e.event_time DESC LIMIT 1),
       EXISTS (SELECT FROM (SELECT known.event_name FROM events known
                            WHERE known.space_id = %(space_id)s
                            ORDER BY known.event_time DESC, known.id DESC LIMIT %(latest)s) e
               WHERE e.event_name = %(order)s);
