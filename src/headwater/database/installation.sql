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

-- name: description
-- The row without the secret key, for a backup.
SELECT to_jsonb(i) - 'secret_key' - 'restoring' FROM installation i;

-- name: restore
-- The row of a backup, in a database that is being restored.
INSERT INTO installation
SELECT * FROM jsonb_populate_record(
    NULL::installation,
    %(description)s::jsonb || jsonb_build_object(
        'singleton', true, 'restoring', true, 'secret_key', %(secret_key)s::text));

-- name: begin_restore
-- Mark the database as a restore of an earlier time: services refuse to start until it is finished.
UPDATE installation SET restoring = true;

-- name: finish_restore
-- The restore is through: the database is an installation from now on.
UPDATE installation SET restoring = false;

-- name: unfinished
-- Whether a restore has not finished: it begins with a database without the row.
SELECT coalesce((SELECT i.restoring FROM installation i), true);
