-- Who made an API key, so that it can be revoked with their membership. NULL: made at a terminal,
-- or before this was recorded.
ALTER TABLE api_keys ADD COLUMN made_by bigint REFERENCES users;
