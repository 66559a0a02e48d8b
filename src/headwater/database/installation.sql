-- name: write_addresses
-- What the service that is starting is called by.
UPDATE installation SET base_url = %(base_url)s, tracker_script = %(tracker_script)s,
    platform_urls = %(platform_urls)s;

-- name: addresses
-- What the service was called by when it last started; null before its first start.
SELECT i.base_url, i.tracker_script, i.platform_urls FROM installation i;
