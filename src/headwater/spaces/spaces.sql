-- name: fetch
SELECT s.id, s.name, s.timezone, s.currency, s.company_identity_mode, s.subscription,
       s.phone_region, s.ignored_identifiers, s.own_domains, s.excluded_referrers,
       s.heeded_referrers, s.ad_consent, s.half_life_days, trim_scale(s.cost_rate) AS cost_rate,
       s.page_view_days, s.inactive_contact_days, s.delivery_days, s.log_days,
       s.require_second_factor,
       coalesce((SELECT jsonb_object_agg(l.event_name, l.label) FROM event_labels l
                 WHERE l.space_id = %(space_id)s), '{}') AS event_labels,
       coalesce((SELECT jsonb_object_agg(l.field, l.label) FROM field_labels l
                 WHERE l.space_id = %(space_id)s), '{}') AS field_labels,
       coalesce((SELECT jsonb_object_agg(n.name, n.source) FROM source_names n
                 WHERE n.space_id = %(space_id)s), '{}') AS source_names,
       coalesce((SELECT jsonb_agg(jsonb_build_array(p.number, p.name, p.spellings, p.platform,
                                                    p.removed_at IS NOT NULL) ORDER BY p.number)
                 FROM paid_networks p WHERE p.space_id = %(space_id)s), '[]') AS networks,
       coalesce((SELECT jsonb_object_agg(a.phrase, a.source) FROM answer_phrases a
                 WHERE a.space_id = %(space_id)s), '{}') AS answer_phrases
FROM spaces s
WHERE s.id = %(space_id)s;

-- name: list_ids
SELECT id FROM spaces ORDER BY id;

-- name: any
SELECT EXISTS (SELECT 1 FROM spaces);

-- name: create
INSERT INTO spaces (name) VALUES (%(name)s) RETURNING id;

-- name: change
-- Change settings; NULL keeps one.
UPDATE spaces SET
    name = coalesce(%(name)s, name),
    timezone = coalesce(%(timezone)s, timezone),
    currency = coalesce(%(currency)s, currency),
    company_identity_mode = coalesce(%(company_identity_mode)s, company_identity_mode),
    subscription = coalesce(%(subscription)s, subscription),
    phone_region = nullif(coalesce(%(phone_region)s, phone_region), ''),
    ignored_identifiers = coalesce(%(ignored_identifiers)s::text[], ignored_identifiers),
    own_domains = coalesce(%(own_domains)s::text[], own_domains),
    excluded_referrers = coalesce(%(excluded_referrers)s::text[], excluded_referrers),
    heeded_referrers = coalesce(%(heeded_referrers)s::text[], heeded_referrers),
    ad_consent = coalesce(%(ad_consent)s, ad_consent),
    half_life_days = coalesce(%(half_life_days)s, half_life_days),
    cost_rate = nullif(coalesce(%(cost_rate)s, cost_rate::text), '')::numeric,
    page_view_days = nullif(coalesce(%(page_view_days)s, page_view_days::text), '')::integer,
    inactive_contact_days =
        nullif(coalesce(%(inactive_contact_days)s, inactive_contact_days::text), '')::integer,
    delivery_days = nullif(coalesce(%(delivery_days)s, delivery_days::text), '')::integer,
    log_days = nullif(coalesce(%(log_days)s, log_days::text), '')::integer,
    require_second_factor = coalesce(%(require_second_factor)s, require_second_factor)
WHERE id = %(space_id)s;

-- name: put_event_label
INSERT INTO event_labels (space_id, event_name, label)
VALUES (%(space_id)s, %(slot)s, %(label)s)
ON CONFLICT (space_id, event_name) DO UPDATE SET label = excluded.label;

-- name: remove_event_label
DELETE FROM event_labels WHERE space_id = %(space_id)s AND event_name = %(slot)s;

-- name: put_field_label
-- Label a profile field, which makes it usable in filters.
INSERT INTO field_labels (space_id, field, label)
VALUES (%(space_id)s, %(slot)s, %(label)s)
ON CONFLICT (space_id, field) DO UPDATE SET label = excluded.label;

-- name: remove_field_label
DELETE FROM field_labels WHERE space_id = %(space_id)s AND field = %(slot)s;

-- name: put_source_name
-- Without a change no row is written.
INSERT INTO source_names AS n (space_id, name, source)
VALUES (%(space_id)s, %(name)s, %(source)s)
ON CONFLICT (space_id, name) DO UPDATE SET source = excluded.source
WHERE n.source <> excluded.source;

-- name: remove_source_name
DELETE FROM source_names WHERE space_id = %(space_id)s AND name = %(name)s;

-- name: count_source_names
SELECT count(*) FROM source_names WHERE space_id = %(space_id)s;

-- name: put_answer_phrase
-- Without a change no row is written.
INSERT INTO answer_phrases AS a (space_id, phrase, source)
VALUES (%(space_id)s, %(phrase)s, %(source)s)
ON CONFLICT (space_id, phrase) DO UPDATE SET source = excluded.source
WHERE a.source <> excluded.source;

-- name: remove_answer_phrase
DELETE FROM answer_phrases WHERE space_id = %(space_id)s AND phrase = %(phrase)s;

-- name: count_answer_phrases
SELECT count(*) FROM answer_phrases WHERE space_id = %(space_id)s;

-- name: limits
SELECT bucket, per_minute FROM space_limits WHERE space_id = %(space_id)s ORDER BY bucket;

-- name: put_limit
INSERT INTO space_limits (space_id, bucket, per_minute)
VALUES (%(space_id)s, %(bucket)s, %(per_minute)s)
ON CONFLICT (space_id, bucket) DO UPDATE SET per_minute = excluded.per_minute;

-- name: remove_limit
DELETE FROM space_limits WHERE space_id = %(space_id)s AND bucket = %(bucket)s;

-- name: announce_access
-- On commit, clear every API process's cached access data of a Space.
SELECT pg_notify('headwater_access', %(space_id)s::text);
