-- What is stored of a contact that was merged or changed company follows it. A statement for each
-- contact, like all rare updates of stored rows: see events/batch_store.sql. Rows that are right
-- already are left alone, which makes a second run a repair and nothing more.

-- name: events
-- Its events: contact, company, and what its path has become.
UPDATE events e
SET contact_id = %(survivor_id)s, company_id = %(company_id)s,
    source_mask = e.source_mask | %(source_mask)s,
    origin_id = CASE WHEN e.contact_id = %(survivor_id)s THEN e.origin_id
                     ELSE coalesce(e.origin_id, e.contact_id) END
WHERE e.space_id = %(space_id)s AND e.contact_id = %(contact_id)s
  AND (e.contact_id <> %(survivor_id)s OR e.company_id IS DISTINCT FROM %(company_id)s
       OR e.source_mask & %(source_mask)s::bigint <> %(source_mask)s::bigint);

-- name: touchpoints
-- Its touchpoints.
UPDATE touchpoints t
SET contact_id = %(survivor_id)s, company_id = %(company_id)s,
    origin_id = CASE WHEN t.contact_id = %(survivor_id)s THEN t.origin_id
                     ELSE coalesce(t.origin_id, t.contact_id) END
WHERE t.space_id = %(space_id)s AND t.contact_id = %(contact_id)s
  AND (t.contact_id <> %(survivor_id)s OR t.company_id IS DISTINCT FROM %(company_id)s);

-- name: visits
-- Its visits.
UPDATE visits v
SET contact_id = %(survivor_id)s, company_id = %(company_id)s,
    origin_id = CASE WHEN v.contact_id = %(survivor_id)s THEN v.origin_id
                     ELSE coalesce(v.origin_id, v.contact_id) END
WHERE v.space_id = %(space_id)s AND v.contact_id = %(contact_id)s
  AND (v.contact_id <> %(survivor_id)s OR v.company_id IS DISTINCT FROM %(company_id)s);

-- name: hits
-- Its page views, which name no company.
UPDATE hits h
SET contact_id = %(survivor_id)s, origin_id = coalesce(h.origin_id, h.contact_id)
WHERE h.space_id = %(space_id)s AND h.contact_id = %(contact_id)s
  AND h.contact_id <> %(survivor_id)s;
