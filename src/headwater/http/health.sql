-- name: queue
-- The whole installation's backlog: rows waiting, the oldest one's age, rows rejected.
SELECT (SELECT count(*) FROM inbox),
       coalesce((SELECT extract(epoch FROM now() - min(received_at)) FROM inbox), 0)::float8,
       (SELECT count(*) FROM rejected);
