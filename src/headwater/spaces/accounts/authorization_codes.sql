-- name: make
INSERT INTO oauth_codes (space_id, code_hash, consent_hash, user_id, client_id, client_name,
                         redirect_uri, code_challenge, resource, read_only, expires_at)
VALUES (%(space_id)s, %(code_hash)s, %(consent_hash)s, %(user_id)s, %(client_id)s,
        %(client_name)s, %(redirect_uri)s, %(code_challenge)s, %(resource)s, %(read_only)s,
        now() + %(lifetime)s)
ON CONFLICT (consent_hash) DO NOTHING
RETURNING id;

-- name: find
-- The Space and client of an unused code. Its Space is not known yet.
SELECT space_id, client_id FROM oauth_codes
WHERE code_hash = %(code_hash)s AND used_at IS NULL;

-- name: use
-- Use an unused code: only one of several concurrent requests gets it. Its Space is not known yet.
UPDATE oauth_codes SET used_at = now()
WHERE code_hash = %(code_hash)s AND used_at IS NULL
RETURNING space_id, id, user_id, client_id, client_name, redirect_uri, code_challenge, resource,
          read_only, expires_at;

-- name: note_token
UPDATE oauth_codes SET token_id = %(token_id)s WHERE space_id = %(space_id)s AND id = %(id)s;

-- name: revoke_token
-- Revoke the token of a code presented twice (RFC 6749 §4.1.2). Its Space is not known yet.
UPDATE mcp_tokens t SET revoked_at = least(t.revoked_at, now())
FROM oauth_codes c
WHERE c.code_hash = %(code_hash)s AND c.used_at IS NOT NULL
  AND t.space_id = c.space_id AND t.id = c.token_id;

-- name: forget
-- Old codes are kept for a day to detect reuse.
DELETE FROM oauth_codes WHERE expires_at < now() - interval '1 day';
