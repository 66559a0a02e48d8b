-- name: add
INSERT INTO sso_providers (name, issuer, client_id, client_secret, settings)
VALUES (%(name)s, %(issuer)s, %(client_id)s, %(client_secret)s, %(settings)s)
ON CONFLICT (name) DO NOTHING;

-- name: change
UPDATE sso_providers
SET client_id = %(client_id)s, client_secret = %(client_secret)s, settings = %(settings)s
WHERE name = %(name)s;

-- name: remove
DELETE FROM sso_providers WHERE name = %(name)s;

-- name: list
SELECT name, issuer, client_id, client_secret, settings FROM sso_providers ORDER BY created_at, name;

-- name: password_users
SELECT u.id, u.email FROM sso_password_users p JOIN users u ON u.id = p.user_id ORDER BY u.id;

-- name: allow_all_passwords
DELETE FROM sso_password_users;

-- name: keep_password
INSERT INTO sso_password_users (user_id) VALUES (%(user_id)s);
