-- Page views are rows of their own, however old.
DROP TABLE packed_hits;
ALTER TABLE page_view_upkeep DROP COLUMN packed_id;
