-- name: fetch
-- A Space's own paid networks, including removed ones, by number.
SELECT p.number, p.name, p.spellings, p.platform, p.removed_at IS NOT NULL
FROM paid_networks p
WHERE p.space_id = %(space_id)s
ORDER BY p.number;

-- name: names
SELECT n.name, n.source FROM source_names n WHERE n.space_id = %(space_id)s;

-- name: put
INSERT INTO paid_networks AS p (space_id, number, name, spellings, platform)
VALUES (%(space_id)s, %(number)s, %(name)s, %(spellings)s, %(platform)s)
ON CONFLICT (space_id, number) DO UPDATE
SET spellings = excluded.spellings, platform = excluded.platform, removed_at = NULL;

-- name: remove
-- Its number and name stay, for rows stored under them.
UPDATE paid_networks SET removed_at = now()
WHERE space_id = %(space_id)s AND name = %(name)s AND removed_at IS NULL;
