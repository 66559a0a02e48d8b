-- name: queue
-- Return the backlog of the installation: waiting rows and the oldest one's age, rejected rows, and waiting
-- erasures and exports with the oldest one's age. A Space's first row is its oldest, so a long queue is as
-- fast to read.
SELECT (SELECT count(*) FROM inbox),
       coalesce((SELECT extract(epoch FROM now() - min(oldest.received_at))
                 FROM (SELECT (SELECT i.received_at FROM inbox i
                               WHERE i.space_id = s.id ORDER BY i.id LIMIT 1) AS received_at
                       FROM spaces s) oldest), 0)::float8,
       (SELECT count(*) FROM rejected), erasures.waiting,
       coalesce(extract(epoch FROM now() - erasures.oldest), 0)::float8, exports.waiting,
       coalesce(extract(epoch FROM now() - exports.oldest), 0)::float8
FROM (SELECT count(*) AS waiting, min(requested_at) AS oldest
      FROM erasures WHERE erased_at IS NULL) erasures,
     (SELECT count(*) AS waiting, min(created_at) AS oldest
      FROM exports WHERE status IN ('queued', 'processing')) exports;
