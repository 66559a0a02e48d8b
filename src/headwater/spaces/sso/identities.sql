-- name: alone
-- One sign-in through a provider at a time, so that two first ones of a person create one user.
SELECT pg_advisory_xact_lock(hashtext('headwater sso ' || %(provider)s));

-- name: use
UPDATE sso_identities SET last_used_at = now()
WHERE provider = %(provider)s AND subject = %(subject)s
RETURNING user_id;

-- name: find
SELECT user_id FROM sso_identities WHERE provider = %(provider)s AND subject = %(subject)s;

-- name: link
-- One account of a provider for each user: an address that was given to another person leads to nobody else.
INSERT INTO sso_identities (provider, subject, user_id)
VALUES (%(provider)s, %(subject)s, %(user_id)s)
ON CONFLICT (provider, user_id) DO NOTHING;

-- name: unlink
DELETE FROM sso_identities WHERE provider = %(provider)s AND user_id = %(user_id)s;
