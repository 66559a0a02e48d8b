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
INSERT INTO sso_identities (provider, subject, user_id)
VALUES (%(provider)s, %(subject)s, %(user_id)s);

-- name: linked
SELECT provider FROM sso_identities WHERE user_id = %(user_id)s;

-- name: unlink
DELETE FROM sso_identities WHERE provider = %(provider)s AND user_id = %(user_id)s;
