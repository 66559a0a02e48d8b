-- name: write_addresses
-- What the service that is starting is called by.
UPDATE installation SET base_url = %(base_url)s, tracker_script = %(tracker_script)s,
    platform_urls = %(platform_urls)s;

-- name: addresses
-- What the service was called by when it last started; null before its first start.
SELECT i.base_url, i.tracker_script, i.platform_urls FROM installation i;

-- name: secret_key
-- The key, as long as the database keeps it.
SELECT i.secret_key FROM installation i;

-- name: clear_secret_key
-- The key has been written to the data directory and is to be found nowhere else.
UPDATE installation SET secret_key = NULL;
