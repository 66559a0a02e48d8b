-- Exports of contacts come to their end while people are erased: one that an erasure has taken away
-- from its process holds off the Space's erasures from its next attempt on, as long as its lease lasts.
-- `leased_until` stays when a lease ends, so that it says up to when erasures were held off.
ALTER TABLE exports ADD COLUMN was_withdrawn boolean NOT NULL DEFAULT false;
CREATE INDEX exports_withdrawn ON exports (space_id, leased_until) WHERE was_withdrawn;
