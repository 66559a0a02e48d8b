-- name: snapshot
-- Segments, changes and tables are read as of one moment. Who deletes changes that another has
-- deleted meanwhile fails, so two workers never write a day from different moments.
SET TRANSACTION ISOLATION LEVEL REPEATABLE READ;

-- name: take_day
-- Take a day until the transaction's end, unless another worker has it: what both write only one can
-- commit. It is no row's lock, as a row of the day may not be there yet.
SELECT pg_try_advisory_xact_lock(
    hashtextextended('headwater paths ' || %(space_id)s::bigint || ' ' || %(day)s::date, 0));

-- name: spaces
-- For the operator's side: Spaces with days that are due, found by hopping from one day of a Space
-- to the next, so that many changes of a day cost no more than a few. Some are enough at a time.
WITH RECURSIVE hop (space_id, day) AS (
    (SELECT p.space_id, p.day FROM pending_paths p ORDER BY p.space_id, p.day LIMIT 1)
    UNION ALL
    SELECT next.space_id, next.day
    FROM hop
    CROSS JOIN LATERAL (
        SELECT p.space_id, p.day FROM pending_paths p
        WHERE (p.space_id, p.day) > (hop.space_id, hop.day)
        ORDER BY p.space_id, p.day LIMIT 1) next
)
SELECT DISTINCT due.space_id
FROM (
    SELECT hop.space_id
    FROM hop
    WHERE (SELECT p.changed_at <= now() - CASE
                      WHEN (SELECT count(*) FROM (
                                SELECT FROM pending_paths p
                                WHERE p.space_id = hop.space_id LIMIT %(many)s) p) < %(many)s
                      THEN %(patience_for_few)s ELSE %(patience)s END
           FROM pending_paths p
           WHERE p.space_id = hop.space_id AND p.day = hop.day ORDER BY p.id LIMIT 1)
       OR (SELECT count(*) FROM (
               SELECT FROM pending_paths p
               WHERE p.space_id = hop.space_id AND p.day = hop.day LIMIT %(counted)s) p)
          >= least(%(counted)s, %(many)s * greatest(1, (
              SELECT d.parts / %(parts)s FROM path_days d
              WHERE d.space_id = hop.space_id AND d.day = hop.day)))
    LIMIT 1000) due;

-- name: spaces_of_nodes
-- The same in a cluster, which has no recursion over several nodes: Spaces that may have days that are
-- due, as one of their changes has waited long enough for few, or there are %(many)s of them; of many
-- changes no more are read. Some Spaces are enough at a time.
SELECT l.space_id FROM space_locks l
WHERE (SELECT count(*) >= %(many)s OR min(waiting.changed_at) <= now() - %(patience_for_few)s
       FROM (SELECT p.changed_at FROM pending_paths p
             WHERE p.space_id = l.space_id LIMIT %(many)s) waiting)
LIMIT 1000;

-- name: due_days
-- Days that are due, as they have %(many)s changes for every %(parts)s segments, or as one has waited for
-- %(patience)s, or %(patience_for_few)s where fewer than %(many)s wait in the whole Space. Those with most
-- changes first, so that what waits stays bounded when there is more than can be done at once: a day
-- costs hardly more for having waited. Of days with about as many, to a factor of two, the latest, as
-- most reports are about the latest days. Every day with changes is looked at for it, so several are
-- taken at once.
WITH RECURSIVE hop (day) AS (
    (SELECT p.day FROM pending_paths p
     WHERE p.space_id = %(space_id)s ORDER BY p.day DESC LIMIT 1)
    UNION ALL
    SELECT next.day
    FROM hop
    CROSS JOIN LATERAL (
        SELECT p.day FROM pending_paths p
        WHERE p.space_id = %(space_id)s AND p.day < hop.day ORDER BY p.day DESC LIMIT 1) next
)
SELECT hop.day
FROM hop
CROSS JOIN LATERAL (
    SELECT count(*) AS changes
    FROM (SELECT FROM pending_paths p
          WHERE p.space_id = %(space_id)s AND p.day = hop.day LIMIT %(counted)s) p) waiting
WHERE (SELECT p.changed_at <= now() - CASE
                  WHEN (SELECT count(*) FROM (
                            SELECT FROM pending_paths p
                            WHERE p.space_id = %(space_id)s LIMIT %(many)s) p) < %(many)s
                  THEN %(patience_for_few)s ELSE %(patience)s END
       FROM pending_paths p
       WHERE p.space_id = %(space_id)s AND p.day = hop.day ORDER BY p.id LIMIT 1)
   OR waiting.changes >= least(%(counted)s, %(many)s * greatest(1, (
          SELECT d.parts / %(parts)s FROM path_days d
          WHERE d.space_id = %(space_id)s AND d.day = hop.day)))
ORDER BY floor(ln(waiting.changes) / ln(2)) DESC, hop.day DESC
LIMIT %(most_days)s;

-- name: changes
-- What has changed on a day, the oldest first.
SELECT p.id, p.event_id
FROM pending_paths p
WHERE p.space_id = %(space_id)s AND p.day = %(day)s
ORDER BY p.id
LIMIT %(limit)s;

-- name: has_unnoted
-- Whether there are events on a day that are not among its changes: those of a day that has no
-- segments must all be.
SELECT EXISTS (
    SELECT e.id FROM events e WHERE e.space_id = %(space_id)s AND {of_day}
    EXCEPT
    SELECT p.event_id FROM pending_paths p
    WHERE p.space_id = %(space_id)s AND p.day = %(day)s);

-- name: delete_changes
-- Changes that segments have now.
DELETE FROM pending_paths p
WHERE p.space_id = %(space_id)s AND p.day = %(day)s AND p.id = ANY(%(ids)s::bigint[]);

-- name: delete_day
-- Segments of a day that cannot be read.
DELETE FROM path_segments s WHERE s.space_id = %(space_id)s AND s.day = %(day)s;
