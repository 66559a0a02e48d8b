-- name: unread
-- Most frequent among the latest, ignoring case.
SELECT min(latest.answer), count(*)
FROM (SELECT trim(e.heard_about_us) AS answer, e.self_reported_source
      FROM events e
      WHERE e.space_id = %(space_id)s AND e.heard_about_us IS NOT NULL
      ORDER BY e.id DESC LIMIT %(looked_at)s) latest
WHERE latest.self_reported_source = 'other'
GROUP BY lower(latest.answer)
ORDER BY count(*) DESC, min(latest.answer)
LIMIT %(most)s;
