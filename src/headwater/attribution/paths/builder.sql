-- name: snapshot
-- Read segments, changes and tables from one snapshot. Deleting changes that another transaction has deleted
-- fails, so two workers never write a day from different snapshots.
SET TRANSACTION ISOLATION LEVEL REPEATABLE READ;

-- name: take_day
-- Lock a day until the end of the transaction unless another worker has it. Not a row lock, because the day's
-- row may not exist yet.
SELECT pg_try_advisory_xact_lock(
    hashtextextended('headwater paths ' || %(space_id)s::bigint || ' ' || %(day)s::date, 0));

-- name: spaces
-- For the operator: Spaces with due days, found by hopping from one day to the next. For each day this reads
-- at most the changes that make it due. The orders keep PostgreSQL in the index: it read the whole table for
-- each day of a Space with few changes next to one with many. The limit is enough for one pass.
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
                                WHERE p.space_id = hop.space_id
                                ORDER BY p.day LIMIT %(many)s) p) < %(many)s
                      THEN %(patience_for_few)s ELSE %(patience)s END
           FROM pending_paths p
           WHERE p.space_id = hop.space_id AND p.day = hop.day ORDER BY p.id LIMIT 1)
       OR EXISTS (
           SELECT FROM pending_paths p
           WHERE p.space_id = hop.space_id AND p.day = hop.day
           ORDER BY p.id
           OFFSET least(%(counted)s, %(many)s * greatest(1, (
               SELECT d.parts / %(parts)s FROM path_days d
               WHERE d.space_id = hop.space_id AND d.day = hop.day))) - 1)
    LIMIT 1000) due;

-- name: spaces_of_nodes
-- For a cluster, without recursion over several nodes: Spaces that may have due days because a change has
-- waited long enough, or because there are %(many)s of them. At most that many are read. The limit is enough
-- for one pass.
SELECT l.space_id FROM space_locks l
WHERE (SELECT count(*) >= %(many)s OR min(waiting.changed_at) <= now() - %(patience_for_few)s
       FROM (SELECT p.changed_at FROM pending_paths p
             WHERE p.space_id = l.space_id LIMIT %(many)s) waiting)
LIMIT 1000;

-- name: due_days
-- Days that are due: with %(many)s changes per %(parts)s segments, or a change older than %(patience)s, or
-- %(patience_for_few)s if the whole Space has fewer than %(many)s. Days with most changes come first, so that
-- the backlog stays bounded under overload: waiting hardly makes a day more expensive. Among days with
-- similar counts (to a factor of two), the latest come first, because most reports are about them. Every day
-- with changes is checked, so several are taken at once.
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
          WHERE p.space_id = %(space_id)s AND p.day = hop.day
          ORDER BY p.id LIMIT %(counted)s) p) waiting
WHERE (SELECT p.changed_at <= now() - CASE
                  WHEN (SELECT count(*) FROM (
                            SELECT FROM pending_paths p
                            WHERE p.space_id = %(space_id)s
                            ORDER BY p.day LIMIT %(many)s) p) < %(many)s
                  THEN %(patience_for_few)s ELSE %(patience)s END
       FROM pending_paths p
       WHERE p.space_id = %(space_id)s AND p.day = hop.day ORDER BY p.id LIMIT 1)
   OR waiting.changes >= least(%(counted)s, %(many)s * greatest(1, (
          SELECT d.parts / %(parts)s FROM path_days d
          WHERE d.space_id = %(space_id)s AND d.day = hop.day)))
ORDER BY floor(ln(waiting.changes) / ln(2)) DESC, hop.day DESC
LIMIT %(most_days)s;

-- name: changes
-- A day's changes, oldest first.
SELECT p.id, p.event_id
FROM pending_paths p
WHERE p.space_id = %(space_id)s AND p.day = %(day)s
ORDER BY p.id
LIMIT %(limit)s;

-- name: has_unnoted
-- Whether a day has events that aren't among its changes. All events of a day without segments must be.
SELECT EXISTS (
    SELECT e.id FROM events e WHERE e.space_id = %(space_id)s AND {of_day}
    EXCEPT
    SELECT p.event_id FROM pending_paths p
    WHERE p.space_id = %(space_id)s AND p.day = %(day)s);

-- name: delete_changes
-- Changes that are in segments now.
DELETE FROM pending_paths p
WHERE p.space_id = %(space_id)s AND p.day = %(day)s AND p.id = ANY(%(ids)s::bigint[]);

-- name: delete_day
-- Damaged segments of a day.
DELETE FROM path_segments s WHERE s.space_id = %(space_id)s AND s.day = %(day)s;
