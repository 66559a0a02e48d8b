-- name: server
-- Settings that decide whether acknowledged events survive and whether the server's log contains personal
-- data: slow statements are quoted with their values, and errors with the row. Only an embedded server shows
-- its data directory.
SELECT current_setting('server_version_num')::int AS version,
       current_setting('server_version') AS version_name,
       current_setting('fsync') = 'on' AS fsync,
       current_setting('synchronous_commit') <> 'off' AS synchronous_commit,
       current_setting('full_page_writes') = 'on' AS full_page_writes,
       current_setting('data_checksums') = 'on' AS checksums,
       current_setting('log_min_error_statement') IN ('fatal', 'panic')
           AND current_setting('log_error_verbosity') = 'terse'
           AND current_setting('log_statement') = 'none'
           AND current_setting('log_min_duration_statement') = '-1'
           AND current_setting('log_min_duration_sample') = '-1'
           AND current_setting('log_transaction_sample_rate')::float8 = 0 AS keeps_quiet,
       current_setting('transaction_read_only') = 'on' AS is_read_only,
       clock_timestamp() AS now,
       (SELECT c.checkpoint_time FROM pg_control_checkpoint() c) AS checkpoint_at,
       inet_server_addr() IS NOT NULL
           AND NOT (inet_server_addr() <<= '127.0.0.0/8' OR inet_server_addr() = '::1') AS is_remote,
       coalesce((SELECT s.ssl FROM pg_stat_ssl s WHERE s.pid = pg_backend_pid()), false) AS is_encrypted,
       (SELECT r.rolsuper FROM pg_roles r WHERE r.rolname = session_user) AS is_superuser;

-- name: accounts
SELECT EXISTS (SELECT FROM users u) AS has_accounts,
       EXISTS (SELECT FROM one_time_links l
               WHERE l.user_id IS NULL AND l.used_at IS NULL AND l.expires_at > now()) AS is_open;

-- name: backup
SELECT now() - b.made_at AS age, b.verified_at IS NOT NULL AS verified, b.folder
FROM backups b ORDER BY b.made_at DESC LIMIT 1;
