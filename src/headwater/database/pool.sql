-- name: bound_session
-- No statement outlives its request, even if this process is killed or frozen: the server ends it after a
-- time, in milliseconds, or when its client has gone, and ends idle transactions, which hold locks. In a
-- cluster (Citus) transaction settings also apply on the nodes.
SELECT set_config('statement_timeout', %(patience)s::text, false),
       set_config('idle_in_transaction_session_timeout', %(patience)s::text, false),
       set_config('client_connection_check_interval', '1000', false),
       set_config('citus.propagate_set_commands', 'local', false);

-- name: watch_client
-- End a statement soon after its client has gone.
SELECT set_config('client_connection_check_interval', '1000', false);

-- name: bound_statements
-- Time limits, in milliseconds, for statements and lock waits of this transaction. Not a query, which would
-- fix the isolation level.
SET LOCAL statement_timeout = {patience};
SET LOCAL idle_in_transaction_session_timeout = {patience};
