-- name: candidates
-- Candidates with their source weights in billionths: by id, by name, or the current ones of some or all
-- event names.
SELECT f.id, f.name, f.event_name, f.start_at, f.end_at, f.window_days, f.conversions, f.digest,
       coalesce((SELECT jsonb_object_agg(w.source, (w.weight * %(billion)s)::bigint)
                 FROM trained_weights w
                 WHERE w.space_id = %(space_id)s AND w.trained_model_id = f.id AND w.model = %(model)s
                   AND w.weight > 0), '{}') AS weights_by_source,
       coalesce((SELECT jsonb_object_agg(p.name, p.number) FROM paid_networks p
                 WHERE p.space_id = %(space_id)s), '{}') AS network_numbers
FROM trained_models f
WHERE f.space_id = %(space_id)s
  AND CASE WHEN %(trained_model_id)s::bigint IS NOT NULL THEN f.id = %(trained_model_id)s
      WHEN %(name)s::text IS NOT NULL THEN f.name = %(name)s
      ELSE EXISTS (
          SELECT FROM current_models c
          WHERE c.space_id = %(space_id)s AND c.trained_model_id = f.id
            AND (%(event_names)s::text[] = '{}' OR c.event_name = ANY(%(event_names)s))) END
ORDER BY f.event_name;
