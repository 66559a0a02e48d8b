-- name: write_addresses
UPDATE installation SET base_url = %(base_url)s, tracker_script = %(tracker_script)s,
    platform_urls = %(platform_urls)s;

-- name: addresses
SELECT i.base_url, i.tracker_script, i.platform_urls FROM installation i;

-- name: secret_key
SELECT i.secret_key FROM installation i;

-- name: clear_secret_key
UPDATE installation SET secret_key = NULL;

-- name: description
SELECT to_jsonb(i) - 'secret_key' - 'restoring' FROM installation i;

-- name: restore
INSERT INTO installation
SELECT * FROM jsonb_populate_record(
    NULL::installation,
    %(description)s::jsonb || jsonb_build_object(
        'singleton', true, 'restoring', true, 'secret_key', %(secret_key)s::text));

-- name: begin_restore
-- Services refuse to start until the restore is finished.
UPDATE installation SET restoring = true;

-- name: finish_restore
UPDATE installation SET restoring = false;

-- name: unfinished
-- Whether a restore is unfinished: it begins with a database without the row.
SELECT coalesce((SELECT i.restoring FROM installation i), true);
