-- name: bound_session
-- No statement outlives its request, even if this process is killed or frozen: the server ends it after a
-- time, in milliseconds, or when its client has gone, and ends idle transactions, which hold locks. An
-- operator's time limit for idle sessions would end pooled ones, and the next request would be refused. In a
-- cluster (Citus) transaction settings also apply on the nodes.
SELECT set_config('statement_timeout', %(patience)s::text, false),
       set_config('idle_in_transaction_session_timeout', %(patience)s::text, false),
       set_config('idle_session_timeout', '0', false),
       set_config('client_connection_check_interval', '1000', false),
       set_config('citus.propagate_set_commands', 'local', false);

-- name: watch_client
-- End a statement soon after its client has gone, but not an idle session, which listens or waits for work.
SELECT set_config('client_connection_check_interval', '1000', false),
       set_config('idle_session_timeout', '0', false);

-- name: end_abandoned
-- End the commits of ended requests that still wait for a synchronous standby. PostgreSQL looks for neither
-- their clients nor time limits there, so they would take all connections while the standby is away.
SELECT pg_terminate_backend(a.pid)
FROM pg_stat_activity a
WHERE a.datname = current_database() AND a.usename = session_user
  AND a.application_name = current_setting('application_name')
  AND a.wait_event = 'SyncRep' AND a.query_start < now() - %(patience)s * interval '1 millisecond';

-- name: bound_statements
-- Time limits, in milliseconds, for statements and lock waits of this transaction. Not a query, which would
-- fix the isolation level.
SET LOCAL statement_timeout = {patience};
SET LOCAL idle_in_transaction_session_timeout = {patience};
