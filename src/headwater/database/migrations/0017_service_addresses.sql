-- What the running service is called by, for the commands beside it: `serve` writes these at its
-- start, so that no address that a command prints depends on the terminal it was typed in.
ALTER TABLE installation
    -- The origin that people and browsers use.
    ADD COLUMN base_url text,
    -- The path of the tracker's script.
    ADD COLUMN tracker_script text,
    -- Ad platform → the origin of its interface.
    ADD COLUMN platform_urls jsonb;

-- Since when a destination has been held. It stays until the platform has taken a call again, so
-- that its recovery can be told, too.
ALTER TABLE destinations ADD COLUMN held_since timestamptz;
UPDATE destinations SET held_since = now() WHERE status = 'held';
