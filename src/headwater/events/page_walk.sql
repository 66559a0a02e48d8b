-- name: every_event
-- The next events of a selection, in the order of a page. That of time is an index's, which is read
-- as far as the page goes; for that of amounts the covering index by time is read from one end of
-- the selection's time to the other, keeping the largest.
SELECT {key}
FROM events e
WHERE e.space_id = %(space_id)s AND {only}
ORDER BY {order}
LIMIT %(limit)s;

-- name: by_key
-- From here on rows are looked up by their keys, one after another, so that a plan is good for all
-- values: each statement is planned once a connection, as planning a page takes longer than reading a
-- hundred rows. Of a Space that has grown since the tables were last analysed the planner believes that
-- it has hardly a row: then reading all of it for each row, or the paths of all events before the first
-- is shown, seems as cheap. Where nothing may be sorted, only the indexes that are in order are left. A
-- cluster (Citus) plans by whose rows they are.
SET LOCAL enable_sort = off;
SET LOCAL enable_seqscan = off;
SELECT set_config('plan_cache_mode',
                  CASE WHEN current_setting('citus.node_connection_timeout', true) IS NULL
                       THEN 'force_generic_plan' ELSE 'auto' END, true);

-- name: by_values
-- From here on statements are planned as usual, each for its own values.
SET LOCAL enable_sort = on;
SET LOCAL enable_seqscan = on;
SET LOCAL plan_cache_mode = auto;
