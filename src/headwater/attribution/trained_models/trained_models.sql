-- name: snapshot
-- Count conversions and lost contacts in one snapshot.
SET TRANSACTION ISOLATION LEVEL REPEATABLE READ;

-- name: is_conversion
-- An expression: the event `e` is neither a refund nor an upsell, which reports don't count as conversions.
coalesce(e.amount, 0) >= 0 AND NOT e.is_upsell AND e.event_name <> 'upsell_purchase';

-- name: converted
-- Conversions of an event name, with the sources of the touches in the window, 2 bytes each, in order; NULL
-- without touches.
SELECT e.contact_id, p.sources
FROM events e
CROSS JOIN LATERAL (
    SELECT string_agg(int2send(t.source_id), '' ORDER BY t.occurred_at, t.id) AS sources
    FROM touchpoints t
    WHERE t.space_id = %(space_id)s AND t.contact_id = e.contact_id
      AND t.occurred_at <= e.event_time
      AND (%(lookback)s = 0
           OR t.occurred_at >= e.event_time - make_interval(secs => %(lookback)s))) p
WHERE e.space_id = %(space_id)s AND e.event_name = %(event_name)s
  AND e.event_time >= %(start)s AND e.event_time < %(end)s
  AND {is_conversion};

-- name: lost
-- Contacts with touches in the period and no such conversion in it, with the sources in the window before
-- their last touch.
SELECT t.contact_id, string_agg(int2send(t.source_id), '' ORDER BY t.occurred_at, t.id)
FROM (
    SELECT t.contact_id, t.occurred_at, t.id, t.source_id,
           max(t.occurred_at) OVER (PARTITION BY t.contact_id) AS latest
    FROM touchpoints t
    WHERE t.space_id = %(space_id)s
      AND t.occurred_at >= %(start)s AND t.occurred_at < %(end)s) t
WHERE (%(lookback)s = 0 OR t.occurred_at >= t.latest - make_interval(secs => %(lookback)s))
  AND NOT EXISTS (
    SELECT FROM events e
    WHERE e.space_id = %(space_id)s AND e.contact_id = t.contact_id
      AND e.event_name = %(event_name)s
      AND e.event_time >= %(start)s AND e.event_time < %(end)s
      AND {is_conversion})
GROUP BY t.contact_id;

-- name: put
-- No row if the name is taken.
INSERT INTO trained_models (space_id, name, event_name, start_at, end_at, window_days, conversions, lost,
                  untouched, counts, digest)
VALUES (%(space_id)s, %(name)s, %(event_name)s, %(start)s, %(end)s, %(window_days)s,
        %(conversions)s, %(lost)s, %(untouched)s, %(counts)s, %(digest)s)
ON CONFLICT (space_id, name) DO NOTHING
RETURNING id;

-- name: put_weights
-- Store the weights.
INSERT INTO trained_weights (space_id, trained_model_id, model, source, weight, low, high)
SELECT %(space_id)s, %(trained_model_id)s, w.model, w.source, w.weight, w.low, w.high
FROM unnest(%(models)s::text[], %(sources)s::text[], %(weights)s::numeric[], %(lows)s::numeric[],
            %(highs)s::numeric[]) AS w (model, source, weight, low, high);

-- name: choose
-- Make a trained model current for its event name.
INSERT INTO current_models (space_id, event_name, trained_model_id, chosen_at)
SELECT %(space_id)s, f.event_name, f.id, now() FROM trained_models f
WHERE f.space_id = %(space_id)s AND f.id = %(trained_model_id)s
ON CONFLICT (space_id, event_name)
    DO UPDATE SET trained_model_id = excluded.trained_model_id, chosen_at = excluded.chosen_at;

-- name: choose_first
-- Make it current if its event name has no current trained model.
INSERT INTO current_models (space_id, event_name, trained_model_id)
SELECT %(space_id)s, f.event_name, f.id FROM trained_models f
WHERE f.space_id = %(space_id)s AND f.id = %(trained_model_id)s
ON CONFLICT (space_id, event_name) DO NOTHING;

-- name: list
-- Newest first.
SELECT f.id, f.name, f.event_name, f.start_at, f.end_at, f.window_days, f.conversions, f.lost,
       f.untouched, f.counts, f.digest, f.made_at,
       EXISTS (SELECT FROM current_models c
               WHERE c.space_id = %(space_id)s AND c.trained_model_id = f.id) AS is_current
FROM trained_models f
WHERE f.space_id = %(space_id)s AND {condition}
ORDER BY f.id DESC;

-- name: find
SELECT f.id FROM trained_models f WHERE f.space_id = %(space_id)s AND f.name = %(name)s;

-- name: weights
-- Largest first, by model.
SELECT w.model, w.source, w.weight, w.low, w.high
FROM trained_weights w
WHERE w.space_id = %(space_id)s AND w.trained_model_id = %(trained_model_id)s
ORDER BY w.model, w.weight DESC, w.source;

-- name: remove
-- Also deletes its weights.
DELETE FROM trained_models f WHERE f.space_id = %(space_id)s AND f.id = %(trained_model_id)s;
