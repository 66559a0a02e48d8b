-- name: hold
-- The counted attempts of a subject, locked for this transaction.
INSERT INTO attempts AS held (subject, taken_at, expires_at)
VALUES (%(subject)s, '{}', now())
ON CONFLICT (subject) DO UPDATE SET taken_at = held.taken_at
RETURNING taken_at;

-- name: clock
-- The time after the lock is acquired.
SELECT clock_timestamp();

-- name: put
UPDATE attempts SET taken_at = %(taken_at)s, expires_at = %(expires_at)s
WHERE subject = %(subject)s;

-- name: give_back
UPDATE attempts SET taken_at = trim_array(taken_at, 1)
WHERE subject = %(subject)s AND cardinality(taken_at) > 0;

-- name: tidy
-- Delete some expired attempts, skipping locked rows. Nodes of a cluster find rows in different places,
-- and an order lets each delete the same.
DELETE FROM attempts WHERE subject = ANY(ARRAY(
    SELECT subject FROM attempts WHERE expires_at < now() ORDER BY subject LIMIT 1000 FOR UPDATE SKIP LOCKED));
