-- When a destination was last tried with a made-up event, whether the platform took it, and what was
-- said then. NULL while it has not been tried since it was changed.
ALTER TABLE destinations
    ADD COLUMN tested_at timestamptz,
    ADD COLUMN test_ok boolean,
    ADD COLUMN test_message text;
