-- name: callers
-- The callers with these key hashes, also of expired keys. The Space of a key is not known yet.
SELECT k.key_hash, k.space_id, k.id, k.scopes, s.subscription = 'active',
       (SELECT jsonb_object_agg(l.bucket, l.per_minute) FROM space_limits l
        WHERE l.space_id = k.space_id),
       ARRAY(SELECT p.name FROM paid_networks p
             WHERE p.space_id = k.space_id AND p.removed_at IS NULL),
       k.addresses::text[], extract(epoch FROM k.expires_at)::float8
FROM api_keys k
JOIN spaces s ON s.id = k.space_id
WHERE k.key_hash = ANY(%(wanted)s) AND k.revoked_at IS NULL;
