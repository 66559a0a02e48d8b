-- When an API key was last used, as exact as a few seconds; NULL for one that has not been used since
-- this column is there.
ALTER TABLE api_keys ADD COLUMN last_used_at timestamptz;
