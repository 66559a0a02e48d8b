-- What touchpoints say of an ad, and of the page it led to, is stored once for each Space, in tag sets
-- that touchpoints name by a small number. The nine columns of the ad move there.
--
-- What it costs: touchpoints are read three times and written once, into a new table, with their
-- indexes: half a minute a million, measured on two busy cores. Until the old one is dropped at the
-- end, the disk holds both. Nothing else can use the table meanwhile. To update the rows where they
-- are would leave a table of twice its size, and every index too. The new table is not vacuumed yet:
-- until autovacuum has been there, which takes it on by itself, attribution reads it more slowly.

CREATE TABLE tag_sets (
    space_id bigint NOT NULL,
    -- From 1 on in each Space, without gaps, so that numbers fit into few bytes. 0, which has no row,
    -- is the set of nothing at all.
    id integer NOT NULL CHECK (id > 0),
    -- Of the ten values (touchpoints/tag_sets.py).
    digest bytea NOT NULL CHECK (octet_length(digest) = 16),
    account_id text,
    account_name text,
    campaign_id text,
    campaign_name text,
    adset_id text,
    adset_name text,
    ad_id text,
    ad_name text,
    keyword text,
    -- The address that the touchpoint has, without query and fragment.
    landing_page text,
    PRIMARY KEY (space_id, id),
    UNIQUE (space_id, digest)
);
ALTER TABLE tag_sets
    ALTER COLUMN digest SET STATISTICS 0,
    ALTER COLUMN account_id SET STATISTICS 0, ALTER COLUMN account_name SET STATISTICS 0,
    ALTER COLUMN campaign_id SET STATISTICS 0, ALTER COLUMN campaign_name SET STATISTICS 0,
    ALTER COLUMN adset_id SET STATISTICS 0, ALTER COLUMN adset_name SET STATISTICS 0,
    ALTER COLUMN ad_id SET STATISTICS 0, ALTER COLUMN ad_name SET STATISTICS 0,
    ALTER COLUMN keyword SET STATISTICS 0, ALTER COLUMN landing_page SET STATISTICS 0;

CREATE FUNCTION pg_temp.landing_page(url text) RETURNS text LANGUAGE sql STABLE
RETURN nullif(left(split_part(split_part(url, '?', 1), '#', 1), 2048), '');

CREATE FUNCTION pg_temp.part(value text) RETURNS text LANGUAGE sql STABLE
RETURN coalesce(length(value) || ':' || value, '-');

CREATE FUNCTION pg_temp.digest(t touchpoints) RETURNS bytea LANGUAGE sql STABLE
RETURN substr(sha256(convert_to(
    pg_temp.part(t.account_id) || pg_temp.part(t.account_name)
    || pg_temp.part(t.campaign_id) || pg_temp.part(t.campaign_name)
    || pg_temp.part(t.adset_id) || pg_temp.part(t.adset_name)
    || pg_temp.part(t.ad_id) || pg_temp.part(t.ad_name)
    || pg_temp.part(t.keyword) || pg_temp.part(pg_temp.landing_page(t.url)), 'UTF8')), 1, 16);

-- Numbered in the order in which touchpoints brought them.
INSERT INTO tag_sets
    (space_id, id, digest, account_id, account_name, campaign_id, campaign_name, adset_id,
     adset_name, ad_id, ad_name, keyword, landing_page)
SELECT t.space_id, row_number() OVER (PARTITION BY t.space_id ORDER BY t.id), s.digest,
       t.account_id, t.account_name, t.campaign_id, t.campaign_name, t.adset_id, t.adset_name,
       t.ad_id, t.ad_name, t.keyword, pg_temp.landing_page(t.url)
FROM (
    SELECT t.space_id, pg_temp.digest(t) AS digest, min(t.id) AS first_id
    FROM touchpoints t
    GROUP BY t.space_id, pg_temp.digest(t)
) s
JOIN touchpoints t ON t.space_id = s.space_id AND t.id = s.first_id
WHERE num_nonnulls(t.account_id, t.account_name, t.campaign_id, t.campaign_name, t.adset_id,
                   t.adset_name, t.ad_id, t.ad_name, t.keyword, pg_temp.landing_page(t.url)) > 0;
ANALYZE tag_sets;

DROP INDEX touchpoints_contact, touchpoints_company, touchpoints_source;
ALTER TABLE touchpoints DROP CONSTRAINT touchpoints_pkey;
ALTER TABLE touchpoints RENAME TO former_touchpoints;

CREATE TABLE touchpoints (
    space_id bigint NOT NULL,
    id bigint NOT NULL,
    contact_id bigint NOT NULL,
    -- Whose it was before its contact was merged into another; NULL says "never moved".
    origin_id bigint,
    company_id bigint,
    occurred_at timestamptz NOT NULL,
    tag_set_id integer NOT NULL DEFAULT 0,
    -- sources/catalogue.py numbers the sources.
    source_id smallint NOT NULL CHECK (source_id BETWEEN 1 AND 62),
    -- Whether it was sent by itself, not made by an event: then it is all that became of its receipt.
    sent boolean NOT NULL DEFAULT false,
    -- Whether it was made by the page view with its id.
    by_hit boolean NOT NULL DEFAULT false,
    -- Which rule named the source.
    source_rule text NOT NULL,
    url text,
    referrer_host text,
    -- The ad platforms' own cookies, as the browser had them: fbp, fbc, ttp, scid, rdt_uuid.
    cookies jsonb,
    -- What the pipeline noticed of one that was sent, e.g. an identifier ignored as junk.
    warnings text[],
    -- Who said it; NULL in what was accepted before senders were stored.
    sender text
);
ALTER TABLE touchpoints
    ALTER COLUMN url SET STATISTICS 0, ALTER COLUMN referrer_host SET STATISTICS 0,
    ALTER COLUMN cookies SET STATISTICS 0, ALTER COLUMN warnings SET STATISTICS 0;

INSERT INTO touchpoints
    (space_id, id, contact_id, origin_id, company_id, occurred_at, tag_set_id, source_id, sent,
     by_hit, source_rule, url, referrer_host, cookies, warnings, sender)
SELECT t.space_id, t.id, t.contact_id, t.origin_id, t.company_id, t.occurred_at,
       coalesce(s.id, 0), t.source_id, t.sent, t.by_hit, t.source_rule, t.url, t.referrer_host,
       t.cookies, t.warnings, t.sender
FROM former_touchpoints t
LEFT JOIN tag_sets s ON s.space_id = t.space_id AND s.digest = pg_temp.digest(t);

DROP FUNCTION pg_temp.digest(former_touchpoints), pg_temp.part(text), pg_temp.landing_page(text);
DROP TABLE former_touchpoints;

ALTER TABLE touchpoints ADD PRIMARY KEY (space_id, id);
-- The indexes attribution stands on: the path of a contact, or a company, in order, with what its
-- touches are told apart by, without touching the heap.
CREATE INDEX touchpoints_contact ON touchpoints (space_id, contact_id, occurred_at, id)
    INCLUDE (source_id, tag_set_id);
CREATE INDEX touchpoints_company ON touchpoints (space_id, company_id, occurred_at, id)
    INCLUDE (source_id, tag_set_id) WHERE company_id IS NOT NULL;
CREATE INDEX touchpoints_source ON touchpoints (space_id, source_id, contact_id);
ANALYZE touchpoints;
