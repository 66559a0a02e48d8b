-- name: try_write
-- Of no Space; always rolled back.
INSERT INTO inbox (space_id, id, kind, sender, received_at, payload)
VALUES (%(space_id)s, %(id)s, 'event', 'api_key', now(), %(payload)s);

-- name: try_commit
-- A commit that waits for the disk, and for a synchronous standby, but leaves nothing in tables.
SELECT pg_logical_emit_message(true, 'headwater', '');
