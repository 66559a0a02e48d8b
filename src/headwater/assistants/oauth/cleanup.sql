-- name: clients
-- Registered assistants unused for a month, and those whose last use is so long ago that all their tokens
-- have expired. Deleting a client too early would make its consent page fail.
DELETE FROM oauth_clients
WHERE last_used_at IS NULL AND created_at < now() - interval '30 days'
   OR last_used_at < now() - interval '400 days';
