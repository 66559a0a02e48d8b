-- name: bound_session
-- No statement outlives the request that sent it, also when this process is killed or frozen: the
-- server ends it after a time, in milliseconds, and when it notices that its client has gone. Nor
-- does a transaction that waits for its next statement: it would keep the locks that it holds. In a
-- cluster (Citus) what a transaction sets holds on its nodes, too: elsewhere the name means nothing.
SELECT set_config('statement_timeout', %(patience)s::text, false),
       set_config('idle_in_transaction_session_timeout', %(patience)s::text, false),
       set_config('client_connection_check_interval', '1000', false),
       set_config('citus.propagate_set_commands', 'local', false);

-- name: watch_client
-- End a statement soon after its client has gone.
SELECT set_config('client_connection_check_interval', '1000', false);

-- name: bound_statements
-- Limits, in milliseconds, for each statement of this transaction and for its wait. This is not a query,
-- because after a query the transaction could no longer set its isolation level.
SET LOCAL statement_timeout = {patience};
SET LOCAL idle_in_transaction_session_timeout = {patience};
