-- When a bot last opened a page of a site: of what bots do, only the number is stored besides.
ALTER TABLE sites ADD COLUMN last_bot_at timestamptz;
