-- name: request
-- A contact is to be erased. Drawing a receipt's number marks the place in the order of arrival.
INSERT INTO erasures (space_id, contact_id, receipt_mark)
VALUES (%(space_id)s, %(contact_id)s, nextval('receipt_ids'));

-- name: list
-- What was asked to be erased in a Space, the latest first.
SELECT e.id, e.contact_id, e.requested_at, e.attempts, e.retry_at, e.last_error, e.erased_at
FROM erasures e
WHERE e.space_id = %(space_id)s
ORDER BY e.id DESC
LIMIT %(limit)s;

-- name: due
-- For the operator's side: the erasures to be carried out now, as the queue that inbox/queue.sql
-- hops over.
(SELECT e.space_id FROM erasures e WHERE e.erased_at IS NULL AND e.retry_at <= now());

-- name: newest
-- For the operator's side: when the latest erasure was asked for that is not carried out.
SELECT max(e.requested_at) FROM erasures e WHERE e.erased_at IS NULL;

-- name: any_up_to
-- For the operator's side: whether one that was asked for by then still waits.
SELECT EXISTS (
    SELECT FROM erasures e WHERE e.erased_at IS NULL AND e.requested_at <= %(requested_at)s);

-- name: lock_space
-- The Space, locked against every other change of its identities, or no row when it is locked.
SELECT s.id FROM spaces s WHERE s.id = %(space_id)s FOR NO KEY UPDATE SKIP LOCKED;

-- name: next
-- The Space's erasure that was asked for first, of those due.
SELECT e.id, e.contact_id, e.receipt_mark, e.attempts
FROM erasures e
WHERE e.space_id = %(space_id)s AND e.erased_at IS NULL AND e.retry_at <= now()
ORDER BY e.id
LIMIT 1;

-- name: waits
-- Whether a row that was accepted before an erasure was asked for still waits.
SELECT EXISTS (SELECT FROM inbox i WHERE i.space_id = %(space_id)s AND i.id <= %(receipt_mark)s);

-- name: done
-- An erasure was carried out.
UPDATE erasures e SET erased_at = clock_timestamp(), last_error = NULL
WHERE e.space_id = %(space_id)s AND e.id = %(id)s;

-- name: put_off
-- An erasure failed: it is tried again after a pause, which grows with each failure.
UPDATE erasures e
SET attempts = e.attempts + 1, last_error = %(last_error)s,
    retry_at = now() + %(pause)s
WHERE e.space_id = %(space_id)s AND e.id = %(id)s
RETURNING e.attempts;
