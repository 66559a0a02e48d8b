-- name: add
INSERT INTO totp_factors (user_id, secret, last_step)
VALUES (%(user_id)s, %(secret)s, %(step)s)
ON CONFLICT (user_id) DO NOTHING;

-- name: has
SELECT EXISTS (SELECT FROM totp_factors WHERE user_id = %(user_id)s)
    OR EXISTS (SELECT FROM passkeys WHERE user_id = %(user_id)s);

-- name: fetch
SELECT secret FROM totp_factors WHERE user_id = %(user_id)s;

-- name: use_step
-- A code works once, and none before it.
UPDATE totp_factors SET last_step = %(step)s
WHERE user_id = %(user_id)s AND last_step < %(step)s;

-- name: remove
DELETE FROM totp_factors WHERE user_id = %(user_id)s;

-- name: add_codes
INSERT INTO recovery_codes (code_hash, user_id)
SELECT code_hash, %(user_id)s FROM unnest(%(hashes)s::bytea[]) AS code_hash;

-- name: use_code
DELETE FROM recovery_codes WHERE code_hash = %(code_hash)s AND user_id = %(user_id)s;

-- name: remove_passkeys
DELETE FROM passkeys WHERE user_id = %(user_id)s;

-- name: remove_spare_codes
-- Recovery codes without a factor to recover.
DELETE FROM recovery_codes WHERE user_id = %(user_id)s
  AND NOT EXISTS (SELECT FROM totp_factors WHERE user_id = %(user_id)s)
  AND NOT EXISTS (SELECT FROM passkeys WHERE user_id = %(user_id)s);

-- name: remove_codes
DELETE FROM recovery_codes WHERE user_id = %(user_id)s;

-- name: count_codes
SELECT count(*) FROM recovery_codes WHERE user_id = %(user_id)s;
