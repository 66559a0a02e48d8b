-- name: draw
-- Draw a number before the change. Other changes of the Space wait until this one commits, so they can't
-- deadlock on each other's rows.
INSERT INTO revisions AS r (space_id, revision, era)
VALUES (%(space_id)s, 1, (random() * 2147483646)::integer)
ON CONFLICT (space_id) DO UPDATE SET revision = r.revision + 1;

-- name: latest
-- The latest number, its era, and the first number with complete history.
SELECT coalesce(max(r.revision), 0), coalesce(max(r.era), 0), coalesce(max(r.known_from), 0), now()
FROM revisions r
WHERE r.space_id = %(space_id)s;

-- name: at
-- The latest number at a time; no row if no longer stored.
SELECT greatest(r.known_from, added.revision, event.revision, touchpoint.revision, made.revision,
                undone.revision)
FROM revisions r
LEFT JOIN LATERAL (
    SELECT a.revision FROM new_rows a
    WHERE a.space_id = %(space_id)s AND a.made_at <= %(moment)s
    ORDER BY a.revision DESC LIMIT 1) added ON true
LEFT JOIN LATERAL (
    SELECT e.until_revision AS revision FROM former_events e
    WHERE e.space_id = %(space_id)s AND e.made_at <= %(moment)s
    ORDER BY e.until_revision DESC LIMIT 1) event ON true
LEFT JOIN LATERAL (
    SELECT t.until_revision AS revision FROM former_touchpoints t
    WHERE t.space_id = %(space_id)s AND t.made_at <= %(moment)s
    ORDER BY t.until_revision DESC LIMIT 1) touchpoint ON true
LEFT JOIN LATERAL (
    SELECT m.revision FROM merges m
    WHERE m.space_id = %(space_id)s AND m.merged_at <= %(moment)s
    ORDER BY m.revision DESC LIMIT 1) made ON true
LEFT JOIN LATERAL (
    SELECT m.undone_revision AS revision FROM merges m
    WHERE m.space_id = %(space_id)s AND m.undone_at <= %(moment)s
      AND m.undone_revision IS NOT NULL
    ORDER BY m.undone_revision DESC LIMIT 1) undone ON true
WHERE r.space_id = %(space_id)s AND r.known_at <= %(moment)s;

-- name: begin_era
-- For the operator: later numbers differ from those used after the backup.
UPDATE revisions r SET era = %(era)s;

-- name: keep_events
-- Events before a change, with those that replace them. An id may be named twice.
INSERT INTO former_events
    (space_id, until_revision, id, cause, contact_id, event_name, event_time, amount, currency,
     is_upsell, from_page, successor_id)
SELECT %(space_id)s, r.revision, e.id, %(cause)s, coalesce(e.origin_id, e.contact_id),
       e.event_name, e.event_time, e.amount, e.currency, e.is_upsell,
       coalesce(e.sender IN ('browser', 'signed_browser'), false) AND NOT e.amount_confirmed,
       x.successor_id
FROM (
    SELECT DISTINCT u.id, u.successor_id
    FROM unnest(%(event_ids)s::bigint[], %(successor_ids)s::bigint[]) AS u (id, successor_id)
) x
JOIN revisions r ON r.space_id = %(space_id)s
JOIN events e ON e.space_id = %(space_id)s AND e.id = x.id;

-- name: keep_touchpoints
-- Touchpoints before a change.
INSERT INTO former_touchpoints
    (space_id, until_revision, id, cause, contact_id, occurred_at, source_id, tag_set_id)
SELECT %(space_id)s, r.revision, t.id, %(cause)s, coalesce(t.origin_id, t.contact_id),
       t.occurred_at, t.source_id, t.tag_set_id
FROM revisions r
JOIN touchpoints t ON t.space_id = %(space_id)s AND t.id = ANY(%(touchpoint_ids)s::bigint[])
WHERE r.space_id = %(space_id)s;

-- name: keep_spend
-- Spend rows before a change.
INSERT INTO former_spend
    (space_id, until_revision, date, key, since_revision, cause, platform, account_id, campaign_id,
     adset_id, ad_id, country, currency, amount, impressions, "clicks", platform_conversions,
     platform_revenue)
SELECT %(space_id)s, r.revision, s.date, s.key, s.revision, %(cause)s, s.platform, s.account_id,
       s.campaign_id, s.adset_id, s.ad_id, s.country, s.currency, s.amount, s.impressions, s.clicks,
       s.platform_conversions, s.platform_revenue
FROM ({rows}) s
JOIN revisions r ON r.space_id = %(space_id)s;

-- name: forget_tag_sets
-- The numbers of erased tag sets can be reused.
UPDATE former_touchpoints f SET tag_set_id = 0
WHERE f.space_id = %(space_id)s AND f.tag_set_id = ANY(%(ids)s::int[]);

-- name: note_added
INSERT INTO new_rows (space_id, revision, event_ids, touchpoint_ids)
SELECT %(space_id)s, r.revision, %(event_ids)s, %(touchpoint_ids)s
FROM revisions r
WHERE r.space_id = %(space_id)s;

-- name: note_pulled
-- The latest change, made by this transaction, is a pull's.
UPDATE new_rows a SET pulled_at = %(pulled_at)s
FROM revisions r
WHERE r.space_id = %(space_id)s AND a.space_id = %(space_id)s AND a.revision = r.revision;

-- name: outdated
-- For the operator: Spaces with old rows.
SELECT DISTINCT x.space_id
FROM (
    SELECT a.space_id FROM new_rows a WHERE a.made_at < %(before)s
    UNION ALL
    SELECT e.space_id FROM former_events e WHERE e.made_at < %(before)s
    UNION ALL
    SELECT t.space_id FROM former_touchpoints t WHERE t.made_at < %(before)s
    UNION ALL
    SELECT s.space_id FROM former_spend s WHERE s.made_at < %(before)s
) x
LIMIT 1000;

-- name: forget
-- Delete a Space's old rows; the latest change among them becomes the first known one.
WITH rows AS (
    DELETE FROM new_rows a WHERE a.space_id = %(space_id)s AND a.made_at < %(before)s
    RETURNING a.revision
), events AS (
    DELETE FROM former_events e WHERE e.space_id = %(space_id)s AND e.made_at < %(before)s
    RETURNING e.until_revision
), touchpoints AS (
    DELETE FROM former_touchpoints t WHERE t.space_id = %(space_id)s AND t.made_at < %(before)s
    RETURNING t.until_revision
), spend_rows AS (
    DELETE FROM former_spend s WHERE s.space_id = %(space_id)s AND s.made_at < %(before)s
    RETURNING s.until_revision
), gone AS (
    SELECT max(x.revision) AS revision
    FROM (SELECT revision FROM rows UNION ALL SELECT until_revision FROM events
          UNION ALL SELECT until_revision FROM touchpoints
          UNION ALL SELECT until_revision FROM spend_rows) x (revision)
)
UPDATE revisions r SET known_from = greatest(r.known_from, gone.revision), known_at = %(before)s
FROM gone
WHERE r.space_id = %(space_id)s AND gone.revision IS NOT NULL;
