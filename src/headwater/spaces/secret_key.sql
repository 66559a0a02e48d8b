-- name: fetch
-- The key, as long as the database keeps it.
SELECT secret_key FROM installation;

-- name: clear
-- The key has been written to the data directory and is to be found nowhere else.
UPDATE installation SET secret_key = NULL;
