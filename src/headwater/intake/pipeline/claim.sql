-- name: standing
-- A separate statement after the lock, to see everything committed before: rows processed under old rules
-- are reclassified, later ones aren't.
SELECT s.id, s.timezone, s.currency, s.phone_region, s.company_identity_mode, s.ignored_identifiers,
       s.own_domains || ARRAY(
           SELECT DISTINCT replace(unnest(site.origins), '://*.', '://') FROM sites site
           WHERE site.space_id = %(space_id)s
           ORDER BY 1),
       s.excluded_referrers, s.heeded_referrers,
       coalesce((SELECT json_object_agg(n.name, n.source) FROM source_names n
                 WHERE n.space_id = %(space_id)s), '{}'),
       coalesce((SELECT jsonb_agg(jsonb_build_array(p.number, p.name, p.spellings, p.platform,
                                                    p.removed_at IS NOT NULL) ORDER BY p.number)
                 FROM paid_networks p WHERE p.space_id = %(space_id)s), '[]'),
       coalesce((SELECT json_object_agg(a.phrase, a.source) FROM answer_phrases a
                 WHERE a.space_id = %(space_id)s), '{}'),
       coalesce((SELECT (extract(epoch FROM c.created_at) * 1000000)::bigint
                 FROM contacts c
                 WHERE c.space_id = %(space_id)s
                 ORDER BY c.created_at DESC
                 LIMIT 1), 0),
       (SELECT json_agg(json_build_object('id', d.id, 'platform', d.platform,
                                          'status', d.status, 'event_names', d.event_names))
        FROM destinations d
        WHERE d.space_id = %(space_id)s AND d.status <> 'removed')
FROM spaces s
WHERE s.id = %(space_id)s;

-- name: draw_number
-- Without a table, because a cluster's node would use its own sequence.
SELECT nextval('receipt_ids');
