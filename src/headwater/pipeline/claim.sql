-- name: lock_space
-- The Space, locked against every other change of its identities, or no row when it is locked.
SELECT s.id, s.timezone, s.company_identity_mode, s.ignored_identifiers,
       s.own_domains || ARRAY(
           SELECT DISTINCT replace(unnest(site.origins), '://*.', '://') FROM sites site
           WHERE site.space_id = %(space_id)s
           ORDER BY 1),
       s.excluded_referrers, s.heeded_referrers
FROM spaces s
WHERE s.id = %(space_id)s
FOR NO KEY UPDATE SKIP LOCKED;

-- name: standing
-- Once the Space is locked, and in a statement of its own, which sees what was committed before
-- the lock was had: a number for what the batch changes before its first merge, when the newest
-- contact was created, where events are forwarded to, and the Space's own rules of sources, which
-- must be those of now: what was processed by others is classified anew, what is processed now not.
SELECT nextval('receipt_ids'),
       coalesce((SELECT (extract(epoch FROM c.created_at) * 1000000)::bigint
                 FROM contacts c
                 WHERE c.space_id = %(space_id)s
                 ORDER BY c.created_at DESC
                 LIMIT 1), 0),
       (SELECT json_agg(json_build_object('id', d.id, 'platform', d.platform,
                                          'status', d.status, 'event_names', d.event_names))
        FROM destinations d
        WHERE d.space_id = %(space_id)s AND d.status <> 'removed'),
       coalesce((SELECT json_object_agg(n.name, n.source) FROM source_names n
                 WHERE n.space_id = %(space_id)s), '{}'),
       coalesce((SELECT json_object_agg(a.phrase, a.source) FROM answer_phrases a
                 WHERE a.space_id = %(space_id)s), '{}');

-- name: own_rules
-- The Space's own names of sources and phrases of answers, for those who lock it and do nothing else.
SELECT coalesce((SELECT json_object_agg(n.name, n.source) FROM source_names n
                 WHERE n.space_id = %(space_id)s), '{}'),
       coalesce((SELECT json_object_agg(a.phrase, a.source) FROM answer_phrases a
                 WHERE a.space_id = %(space_id)s), '{}');
