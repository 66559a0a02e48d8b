-- name: database
-- The number of the database, which none that takes its place has.
SELECT d.oid FROM pg_database d WHERE d.datname = current_database();
