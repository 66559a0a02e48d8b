-- name: clients
-- Assistants that registered and were never used, a month later; and those whose last use is so
-- long ago that no token of theirs can still work. A client that is forgotten too early leaves a
-- person before a page that does not know it.
DELETE FROM oauth_clients
WHERE last_used_at IS NULL AND created_at < now() - interval '30 days'
   OR last_used_at < now() - interval '400 days';
