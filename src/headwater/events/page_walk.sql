-- name: every_event
-- By time, an index is read as far as the page goes; by amount, the covering index by time is read over the
-- whole time range, keeping the largest amounts.
SELECT {key}
FROM events e
WHERE e.space_id = %(space_id)s AND {condition}
ORDER BY {order}
LIMIT %(limit)s;

-- name: by_key
-- One plan per connection then suits all values; planning a page takes longer than reading a hundred rows.
-- In a Space that has grown since the last analysis, reading all of it per row may seem as cheap. Without
-- sorting, only the ordered indexes are left. A cluster (Citus) plans by Space.
SET LOCAL enable_sort = off;
SET LOCAL enable_seqscan = off;
SELECT set_config('plan_cache_mode',
                  CASE WHEN current_setting('citus.node_connection_timeout', true) IS NULL
                       THEN 'force_generic_plan' ELSE 'auto' END, true);

-- name: by_values
SET LOCAL enable_sort = on;
SET LOCAL enable_seqscan = on;
SET LOCAL plan_cache_mode = auto;
