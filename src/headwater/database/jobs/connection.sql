-- name: plan_by_key
-- Plan for lookups by key even with young statistics, once per statement; a cluster (Citus) plans by Space
-- instead. A worker that freezes or loses its network in a batch loses its session, so that the Space does
-- not stay locked; PostgreSQL 16 notices this only when the session is idle. Work beyond a time limit that an
-- operator has set for Headwater's user would be repeated forever. Transaction settings also apply on a
-- cluster's nodes.
SELECT set_config('plan_cache_mode', CASE WHEN EXISTS (
           SELECT 1 FROM pg_extension x WHERE x.extname = 'citus')
           THEN 'auto' ELSE 'force_generic_plan' END, false),
       set_config('enable_seqscan', 'off', false),
       set_config('enable_hashjoin', 'off', false),
       set_config('enable_mergejoin', 'off', false),
       set_config('idle_in_transaction_session_timeout', '60s', false),
       set_config('statement_timeout', '0', false),
       set_config('idle_session_timeout', '0', false),
       set_config('citus.propagate_set_commands', 'local', false),
       (SELECT set_config(s.name, '1800s', false) FROM pg_settings s
        WHERE s.name = 'transaction_timeout');

-- name: stay_connected
-- A session is idle while its process works on a file, longer than an operator's time limit for idle ones.
SELECT set_config('idle_session_timeout', '0', false);

-- name: plan_anew
-- Discard plans made when tables were smaller.
DISCARD PLANS;
