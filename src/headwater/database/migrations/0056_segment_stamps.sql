-- Every write of a segment has a stamp of its own, so that what was added up over it is known to be
-- of these very events as long as the stamp stays the same.

ALTER TABLE path_segments ADD COLUMN stamp bigint NOT NULL DEFAULT 0;
