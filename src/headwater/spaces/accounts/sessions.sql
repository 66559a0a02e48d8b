-- name: open
INSERT INTO sessions (token_hash, user_id, device, expires_at, provider, provider_session, id_token,
                      factor_at)
VALUES (%(token_hash)s, %(user_id)s, %(device)s, now() + %(lifetime)s,
        %(provider)s, %(provider_session)s, %(id_token)s, %(factor_at)s);

-- name: fetch
-- The session of a token, with its user. Its use is recorded at most once a minute. A user with a second factor
-- has no session that began with a password alone, and a user who must log in with single sign-on none that
-- began otherwise, even if its login was under way when this was required.
WITH seen AS (
    UPDATE sessions SET last_seen_at = now()
    WHERE token_hash = %(token_hash)s AND expires_at > now()
      AND last_seen_at > now() - %(idle)s AND last_seen_at < now() - interval '1 minute'
)
SELECT s.id AS session_id, s.created_at AS opened_at,
       s.provider IS NOT NULL AS by_provider, s.factor_at, f.has_factor,
       coalesce(s.password_at, s.created_at) AS password_at,
       u.id, u.email, u.name, u.created_at, u.disabled_at, u.password_hash
FROM sessions s
JOIN users u ON u.id = s.user_id
CROSS JOIN LATERAL (
    SELECT EXISTS (SELECT 1 FROM totp_factors t WHERE t.user_id = s.user_id)
        OR EXISTS (SELECT 1 FROM passkeys p WHERE p.user_id = s.user_id) AS has_factor
) f
WHERE s.token_hash = %(token_hash)s AND s.expires_at > now()
  AND s.last_seen_at > now() - %(idle)s AND u.disabled_at IS NULL
  AND (s.provider IS NOT NULL OR s.factor_at IS NOT NULL OR NOT f.has_factor)
  AND (s.provider IS NOT NULL OR NOT EXISTS (SELECT 1 FROM sso_password_users)
    OR EXISTS (SELECT 1 FROM sso_password_users o WHERE o.user_id = s.user_id));

-- name: hold
-- By a change, because rows of a table that every node of a cluster has can't be locked otherwise.
UPDATE sessions SET last_seen_at = now() WHERE id = %(session_id)s;

-- name: list
SELECT id, device, created_at, last_seen_at FROM sessions
WHERE user_id = %(user_id)s AND expires_at > now() AND last_seen_at > now() - %(idle)s
ORDER BY last_seen_at DESC, id DESC;

-- name: close
DELETE FROM sessions WHERE id = %(session_id)s AND user_id = %(user_id)s
RETURNING provider, provider_session, id_token;

-- name: note_factor
UPDATE sessions SET factor_at = %(moment)s WHERE token_hash = %(token_hash)s;

-- name: note_password
UPDATE sessions SET password_at = now() WHERE id = %(session_id)s;

-- name: close_others
DELETE FROM sessions WHERE user_id = %(user_id)s AND id <> %(session_id)s;

-- name: close_all
DELETE FROM sessions WHERE user_id = %(user_id)s;

-- name: close_provider
-- The sessions that a provider ends: one of its own, or all of a user.
DELETE FROM sessions
WHERE provider = %(provider)s
  AND (%(provider_session)s::text IS NULL OR provider_session = %(provider_session)s)
  AND (%(user_id)s::bigint IS NULL OR user_id = %(user_id)s);

-- name: close_password_sessions
DELETE FROM sessions WHERE provider IS NULL AND user_id <> %(user_id)s;

-- name: tidy
DELETE FROM sessions
WHERE user_id = %(user_id)s AND (expires_at <= now() OR last_seen_at <= now() - %(idle)s);
