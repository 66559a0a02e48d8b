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
