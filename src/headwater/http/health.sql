-- name: queue
-- The whole installation's backlog: rows waiting, the oldest one's age, rows rejected; erasures
-- waiting, the oldest one's age; the same of exports.
SELECT (SELECT count(*) FROM inbox),
       coalesce((SELECT extract(epoch FROM now() - min(received_at)) FROM inbox), 0)::float8,
       (SELECT count(*) FROM rejected), erasures.waiting,
       coalesce(extract(epoch FROM now() - erasures.oldest), 0)::float8, exports.waiting,
       coalesce(extract(epoch FROM now() - exports.oldest), 0)::float8
FROM (SELECT count(*) AS waiting, min(requested_at) AS oldest
      FROM erasures WHERE erased_at IS NULL) erasures,
     (SELECT count(*) AS waiting, min(created_at) AS oldest
      FROM exports WHERE status IN ('queued', 'processing')) exports;
