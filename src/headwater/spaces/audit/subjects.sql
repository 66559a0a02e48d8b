-- What actions change: for each kind, the rows of a Space (or of a user, or of the installation) with the
-- columns that people set. `subject_id` is what an entry calls the row. Columns named in HIDDEN
-- (kinds.py) are compared, and their values not kept.

-- name: lock
-- One action at a time changes rows of a kind, so that nobody gets the blame for another's change.
SELECT pg_advisory_xact_lock(hashtextextended(%(kind)s, %(space_id)s));

-- name: space
SELECT s.id AS subject_id, s.name, s.timezone, s.currency, s.company_identity_mode, s.subscription,
       s.phone_region, s.ignored_identifiers, s.own_domains, s.excluded_referrers, s.heeded_referrers,
       s.ad_consent, s.cost_rate, s.half_life_days, s.page_view_days, s.inactive_contact_days,
       s.delivery_days, s.log_days, s.require_second_factor
FROM spaces s
WHERE s.id = %(space_id)s;

-- name: event_label
SELECT l.event_name AS subject_id, l.label FROM event_labels l WHERE l.space_id = %(space_id)s;

-- name: field_label
SELECT l.field AS subject_id, l.label FROM field_labels l WHERE l.space_id = %(space_id)s;

-- name: rate_limit
SELECT l.bucket AS subject_id, l.per_minute FROM space_limits l WHERE l.space_id = %(space_id)s;

-- name: api_key
SELECT k.id AS subject_id, k.name, k.hint, k.scopes, k.expires_at, k.addresses::text[] AS addresses,
       k.revoked_at, k.replaced_by
FROM api_keys k
WHERE k.space_id = %(space_id)s;

-- name: member
SELECT m.user_id AS subject_id, m.role FROM memberships m WHERE m.space_id = %(space_id)s;

-- name: invitation
SELECT i.id AS subject_id, i.role, i.expires_at, i.accepted_at, i.revoked_at
FROM invitations i
WHERE i.space_id = %(space_id)s;

-- name: assistant_token
SELECT t.id AS subject_id, t.user_id, t.kind, t.name, t.client_id, t.hint, t.read_only, t.expires_at,
       t.revoked_at
FROM mcp_tokens t
WHERE t.space_id = %(space_id)s;

-- name: site
SELECT s.id AS subject_id, s.name, s.origins, s.revoked_at, s.accepts_amounts, s.signed_only,
       s.signing_secret, s.former_until
FROM sites s
WHERE s.space_id = %(space_id)s;

-- name: webhook
SELECT w.id AS subject_id, w.type, w.name, w.hint, w.secret, w.signature_header, w.topic, w.event_names,
       w.mapping, w.revoked_at, w.paused_at, w.takes_tests
FROM webhooks w
WHERE w.space_id = %(space_id)s;

-- name: destination
SELECT d.id AS subject_id, d.platform, d.name, d.status, d.all_events, d.settings, d.event_names,
       d.secrets
FROM destinations d
WHERE d.space_id = %(space_id)s;

-- name: spend_connection
SELECT c.id AS subject_id, c.platform, c.name, c.status, c.settings, c.secrets, c.lender_id
FROM spend_connections c
WHERE c.space_id = %(space_id)s;

-- name: watched_file
SELECT f.id AS subject_id, f.kind, f.name, f.address, f.settings, f.secrets, f.status
FROM watched_files f
WHERE f.space_id = %(space_id)s;

-- name: alert_rule
SELECT r.rule AS subject_id, r.is_on, r.sensitivity, r.muted_until
FROM alert_rules r
WHERE r.space_id = %(space_id)s;

-- name: custom_alert_rule
SELECT r.id AS subject_id, r.measure, r.condition, r.threshold, r.currency, r.days, r.filter, r.group_by,
       r.muted_until, r.note
FROM custom_alert_rules r
WHERE r.space_id = %(space_id)s;

-- name: alert_channel
SELECT c.id AS subject_id, c.kind, c.name, c.hint, c.address, c.secret, c.rules, c.confirmed_at,
       c.removed_at
FROM channels c
WHERE c.space_id = %(space_id)s;

-- name: scheduled_report
SELECT r.id AS subject_id, r.name, r.page, r.query, r.cadence, r.weekdays, r.send_at, r.with_csv,
       r.channel_ids, r.next_at IS NULL AS is_paused
FROM scheduled_reports r
WHERE r.space_id = %(space_id)s;

-- name: saved_view
SELECT v.id AS subject_id, v.user_id, v.name, v.page, v.query
FROM saved_views v
WHERE v.space_id = %(space_id)s;

-- name: share_link
SELECT l.id AS subject_id, l.name, l.page, l.query, l.expires_at, l.revoked_at, l.with_notes
FROM share_links l
WHERE l.space_id = %(space_id)s;

-- name: chart_note
SELECT n.id AS subject_id, n.day, n.text FROM chart_notes n WHERE n.space_id = %(space_id)s;

-- name: export_schedule
SELECT s.id AS subject_id, s.name, s.kind, s.cadence, s.request, s.extension, s.rows_per_file,
       s.first_day, s.rewritten_days
FROM export_schedules s
WHERE s.space_id = %(space_id)s;

-- name: paid_network
SELECT n.number AS subject_id, n.name, n.spellings, n.platform, n.removed_at
FROM paid_networks n
WHERE n.space_id = %(space_id)s;

-- name: source_name
SELECT n.name AS subject_id, n.source FROM source_names n WHERE n.space_id = %(space_id)s;

-- name: answer_phrase
SELECT p.phrase AS subject_id, p.source FROM answer_phrases p WHERE p.space_id = %(space_id)s;

-- name: trained_model
SELECT m.id AS subject_id, m.name, m.event_name, m.start_at, m.end_at, m.window_days
FROM trained_models m
WHERE m.space_id = %(space_id)s;

-- name: current_model
SELECT m.event_name AS subject_id, m.trained_model_id FROM current_models m WHERE m.space_id = %(space_id)s;

-- name: automatic_training
SELECT t.event_name AS subject_id, t.is_on FROM automatic_training t WHERE t.space_id = %(space_id)s;

-- name: user
SELECT u.id AS subject_id, u.email, u.name, u.password_hash, u.disabled_at
FROM users u
WHERE %(user_id)s::bigint IS NULL OR u.id = %(user_id)s;

-- name: authenticator
SELECT f.user_id AS subject_id, f.created_at
FROM totp_factors f
WHERE %(user_id)s::bigint IS NULL OR f.user_id = %(user_id)s;

-- name: passkey
SELECT p.id AS subject_id, p.user_id, p.name, p.created_at
FROM passkeys p
WHERE %(user_id)s::bigint IS NULL OR p.user_id = %(user_id)s;

-- name: recovery_codes
SELECT c.user_id AS subject_id, max(c.created_at) AS created_at
FROM recovery_codes c
WHERE %(user_id)s::bigint IS NULL OR c.user_id = %(user_id)s
GROUP BY c.user_id;

-- name: session
SELECT s.id AS subject_id, s.user_id, s.device, s.provider
FROM sessions s
WHERE %(user_id)s::bigint IS NULL OR s.user_id = %(user_id)s;

-- name: sso_provider
SELECT p.name AS subject_id, p.issuer, p.client_id, p.client_secret, p.settings FROM sso_providers p;

-- name: sso_account
-- The accounts at providers that users log in with.
SELECT i.user_id AS subject_id, i.provider
FROM sso_identities i
WHERE %(user_id)s::bigint IS NULL OR i.user_id = %(user_id)s;

-- name: password_user
-- The users who may use a password beside single sign-on.
SELECT p.user_id AS subject_id FROM sso_password_users p;
