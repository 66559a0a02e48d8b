-- Of a migration that takes something away, the version since which nothing uses it: an older one
-- must not run on the schema. Null where nothing is taken away.

ALTER TABLE migrations ADD COLUMN unused_since text;
