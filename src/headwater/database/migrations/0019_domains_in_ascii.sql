-- Domains of companies in one form: letters beyond ASCII as the domain name system has them, by
-- Punycode (RFC 3492), so that `münchen.de` and `xn--mnchen-3ya.de` are no longer two companies.
-- Where a Space has both, the older company keeps the domain and the other one is released from it:
-- it keeps its id, its name, its history and its contacts.

CREATE FUNCTION pg_temp.punycode(label text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    digits CONSTANT text := 'abcdefghijklmnopqrstuvwxyz0123456789';
    codes int[] := ARRAY(SELECT ascii(c) FROM regexp_split_to_table(label, '') WITH ORDINALITY
                         AS t (c, place) ORDER BY t.place);
    basic text := coalesce((SELECT string_agg(chr(c), '' ORDER BY t.place)
                            FROM unnest(codes) WITH ORDINALITY AS t (c, place) WHERE c < 128), '');
    handled int := length(basic);
    done text := CASE WHEN basic = '' THEN '' ELSE basic || '-' END;
    n int := 128;
    delta bigint := 0;
    bias int := 72;
    next int;
    code int;
    q bigint;
    k int;
    threshold int;
BEGIN
    WHILE handled < cardinality(codes) LOOP
        SELECT min(c) INTO next FROM unnest(codes) c WHERE c >= n;
        delta := delta + (next - n)::bigint * (handled + 1);
        n := next;
        FOREACH code IN ARRAY codes LOOP
            IF code < n THEN
                delta := delta + 1;
            ELSIF code = n THEN
                q := delta;
                k := 36;
                LOOP
                    threshold := least(greatest(k - bias, 1), 26);
                    EXIT WHEN q < threshold;
                    done := done
                        || substr(digits, (threshold + (q - threshold) % (36 - threshold))::int + 1, 1);
                    q := (q - threshold) / (36 - threshold);
                    k := k + 36;
                END LOOP;
                done := done || substr(digits, q::int + 1, 1);
                -- The bias adapts to the distance just written.
                delta := CASE WHEN handled = length(basic) THEN delta / 700 ELSE delta / 2 END;
                delta := delta + delta / (handled + 1);
                k := 0;
                WHILE delta > 455 LOOP
                    delta := delta / 35;
                    k := k + 36;
                END LOOP;
                bias := (k + 36 * delta / (delta + 38))::int;
                delta := 0;
                handled := handled + 1;
            END IF;
        END LOOP;
        delta := delta + 1;
        n := n + 1;
    END LOOP;
    RETURN done;
END $$;

CREATE TEMPORARY TABLE renamed ON COMMIT DROP AS
SELECT c.space_id, c.id, lower(string_agg(
           CASE WHEN label ~ '[^\x01-\x7f]' THEN 'xn--' || pg_temp.punycode(label) ELSE label END,
           '.' ORDER BY place)) AS domain
FROM companies c
CROSS JOIN LATERAL regexp_split_to_table(lower(normalize(c.domain, NFKC)), '\.')
     WITH ORDINALITY AS labels (label, place)
WHERE c.domain ~ '[^\x01-\x7f]'
GROUP BY c.space_id, c.id;

-- Every company that would have one of these domains, without the oldest.
UPDATE companies c SET domain = NULL
FROM (
    SELECT claims.space_id, claims.id,
           row_number() OVER (PARTITION BY claims.space_id, claims.domain ORDER BY claims.id) AS place
    FROM (
        SELECT r.space_id, r.id, r.domain FROM renamed r
        UNION
        SELECT known.space_id, known.id, known.domain
        FROM companies known
        JOIN renamed r ON r.space_id = known.space_id AND r.domain = known.domain
    ) claims
) ranked
WHERE c.space_id = ranked.space_id AND c.id = ranked.id AND ranked.place > 1;

UPDATE companies c SET domain = r.domain
FROM renamed r
WHERE c.space_id = r.space_id AND c.id = r.id AND c.domain IS NOT NULL;

DROP FUNCTION pg_temp.punycode(text);
