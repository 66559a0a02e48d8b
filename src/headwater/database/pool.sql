-- name: bound_session
-- No statement outlives the request that sent it, also when this process is killed or frozen: the
-- server ends it after a time, in milliseconds, and when it notices that its client has gone.
SELECT set_config('statement_timeout', %(patience)s, false),
       set_config('client_connection_check_interval', '1000', false);

-- name: watch_client
-- End a statement soon after its client has gone.
SELECT set_config('client_connection_check_interval', '1000', false);

-- name: bound_statements
-- How long each statement of this transaction may take, in milliseconds.
SELECT set_config('statement_timeout', %(patience)s, true);
