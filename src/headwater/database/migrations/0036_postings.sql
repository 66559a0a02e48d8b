-- Postings: of every source that is rare in a segment, the events that it is on the path of, so that a
-- list of its credit does not read the paths of all others.

ALTER TABLE path_segments
    -- The sources without postings, bit n for number n: for these the paths are read. So they are, for
    -- all sources, in segments from before there were postings.
    ADD COLUMN common_sources bigint NOT NULL DEFAULT -1,
    -- The sources with postings, ascending, and of each where its octets end.
    ADD COLUMN posted_sources smallint[] NOT NULL DEFAULT '{}',
    ADD COLUMN posting_ends integer[] NOT NULL DEFAULT '{}',
    -- Source by source (paths/postings.py).
    ADD COLUMN postings bytea NOT NULL DEFAULT '';
ALTER TABLE path_segments ALTER COLUMN postings SET STORAGE EXTERNAL;

-- One event of each segment is noted, so that the worker writes the segment again, with postings. A
-- segment's first base is the least id of its events.
INSERT INTO pending_paths (space_id, day, event_id)
SELECT s.space_id, s.day, s.bases[1] FROM path_segments s WHERE s.event_count > 0;
