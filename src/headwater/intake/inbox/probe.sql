-- name: try_write
-- A row as an event is stored, of no Space. It is rolled back, so that nobody ever sees it.
INSERT INTO inbox (space_id, id, kind, sender, received_at, payload)
VALUES (%(space_id)s, %(id)s, 'event', 'api_key', now(), %(payload)s);
