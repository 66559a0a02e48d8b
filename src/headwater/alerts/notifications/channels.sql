-- name: confirmed_at
-- A member's address counts as confirmed only as long as they are a member who can log in.
CASE WHEN c.kind = 'webhook' OR c.confirmed_at > c.created_at OR EXISTS (
    SELECT FROM memberships m JOIN users u ON u.id = m.user_id
    WHERE m.space_id = %(space_id)s AND u.email = c.address AND u.disabled_at IS NULL
) THEN c.confirmed_at END

-- name: list
SELECT c.id, c.kind, c.name, c.address, c.hint, c.rules, c.made_by, c.created_at,
       {confirmed_at} AS confirmed_at, c.sent_at, c.went_well, c.error
FROM channels c
WHERE c.space_id = %(space_id)s AND c.removed_at IS NULL
ORDER BY c.id
LIMIT %(most)s;

-- name: count
SELECT count(*) FROM channels c WHERE c.space_id = %(space_id)s AND c.removed_at IS NULL;

-- name: create
INSERT INTO channels (space_id, kind, name, address, hint, rules, made_by, confirmed_at)
VALUES (%(space_id)s, %(kind)s, %(name)s, %(address)s, %(hint)s, %(rules)s, %(user_id)s,
        CASE WHEN %(is_confirmed)s THEN now() END)
RETURNING id;

-- name: set_secret
UPDATE channels c SET secret = %(secret)s WHERE c.space_id = %(space_id)s AND c.id = %(id)s;

-- name: change
UPDATE channels c SET name = %(name)s, rules = %(rules)s
WHERE c.space_id = %(space_id)s AND c.id = %(id)s AND c.removed_at IS NULL
RETURNING c.id;

-- name: remove
UPDATE channels c SET removed_at = now(), secret = NULL, address = NULL, confirmed_at = NULL
WHERE c.space_id = %(space_id)s AND c.id = %(id)s AND c.removed_at IS NULL
RETURNING c.id;

-- name: confirm
UPDATE channels c SET confirmed_at = least(c.confirmed_at, now())
WHERE c.space_id = %(space_id)s AND c.id = %(id)s AND c.removed_at IS NULL;

-- name: fetch
SELECT c.id, c.kind, c.name, c.address, c.secret, c.hint, {confirmed_at} AS confirmed_at, c.made_by
FROM channels c
WHERE c.space_id = %(space_id)s AND c.id = %(id)s AND c.removed_at IS NULL;

-- name: note_result
UPDATE channels c SET sent_at = %(at)s, went_well = %(went_well)s, error = %(error)s
WHERE c.space_id = %(space_id)s AND c.id = %(id)s;

-- name: is_member
SELECT EXISTS (SELECT FROM memberships m JOIN users u ON u.id = m.user_id
               WHERE m.space_id = %(space_id)s AND u.email = %(address)s);
