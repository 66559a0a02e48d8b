-- name: register
-- An assistant that registered itself.
INSERT INTO oauth_clients (id, name, redirect_uris, metadata)
VALUES (%(id)s, %(name)s, %(redirect_uris)s, %(metadata)s)
RETURNING id, name, redirect_uris, metadata, created_at;

-- name: show
-- One of them.
SELECT id, name, redirect_uris, metadata, created_at FROM oauth_clients WHERE id = %(id)s;

-- name: fetch
-- One of them.
SELECT id, name, redirect_uris, created_at FROM oauth_clients WHERE id = %(id)s;

-- name: note_use
-- A person let it in; noted once an hour at most. One that hosts its document is not in the table.
UPDATE oauth_clients SET last_used_at = now()
WHERE id = %(id)s AND (last_used_at IS NULL OR last_used_at < now() - interval '1 hour');
