-- name: fetch
-- One Space with its labels.
SELECT s.id, s.name, s.timezone, s.currency, s.company_identity_mode, s.subscription,
       s.phone_region, s.ignored_identifiers,
       coalesce((SELECT jsonb_object_agg(l.event_name, l.label) FROM event_labels l
                 WHERE l.space_id = %(space_id)s), '{}') AS event_labels,
       coalesce((SELECT jsonb_object_agg(l.field, l.label) FROM field_labels l
                 WHERE l.space_id = %(space_id)s), '{}') AS field_labels
FROM spaces s
WHERE s.id = %(space_id)s;
