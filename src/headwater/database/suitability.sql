-- name: properties
SELECT current_setting('server_encoding') = 'UTF8', current_setting('transaction_read_only') = 'on';

-- name: session
SELECT pg_backend_pid();
