-- Reports count orders, upsells and refunds apart, so paths know the kind of every event
-- (paths/path_data.py: 0 is plain, 1 an upsell, 2 a refund).

ALTER TABLE path_segments ADD COLUMN kinds bytea NOT NULL DEFAULT '';
ALTER TABLE path_segments ALTER COLUMN kinds SET STORAGE EXTERNAL;

-- Stored segments get a column in which every event is plain: its base and its checksum. The events
-- that are not plain wait to be put into segments, and are read from the tables until then. A segment
-- that the version before writes from now on lacks both numbers, and is read as damaged.
UPDATE path_segments SET bases = bases || 0::bigint, checksums = checksums || 1696784233::bigint;
INSERT INTO pending_paths (space_id, day, event_id)
SELECT e.space_id, (e.event_time AT TIME ZONE 'UTC')::date, e.id
FROM events e
WHERE e.is_upsell OR e.event_name = 'upsell_purchase' OR e.amount < 0;

ALTER TABLE former_events ADD COLUMN is_upsell boolean NOT NULL DEFAULT false;
