-- name: register
INSERT INTO oauth_clients (id, name, redirect_uris, metadata)
VALUES (%(id)s, %(name)s, %(redirect_uris)s, %(metadata)s)
RETURNING id, name, redirect_uris, metadata, created_at;

-- name: fetch
SELECT id, name, redirect_uris, metadata, created_at FROM oauth_clients WHERE id = %(id)s;

-- name: note_use
-- At most once an hour. Clients with a hosted document aren't in the table.
UPDATE oauth_clients SET last_used_at = now()
WHERE id = %(id)s AND (last_used_at IS NULL OR last_used_at < now() - interval '1 hour');
