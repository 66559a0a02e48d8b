-- Merges that can be undone, browsing, and erasure.

-- Called immutable, a function that calls stable ones is never inlined, and each call of it costs
-- several times as much.
ALTER FUNCTION iso_utc(timestamptz) STABLE;

-- A row keeps the contact it was first stored on: a merge moves it to the survivor, and undoing
-- the merge finds it again. In events, touchpoints, visits and hits NULL says "never moved".
ALTER TABLE events ADD COLUMN origin_id bigint;
ALTER TABLE touchpoints ADD COLUMN origin_id bigint;

-- An identifier seen on both of two merged contacts is two rows, one for each origin. `contact_id`
-- is where it counts now; a merged contact gets no new rows.
ALTER TABLE contact_identifiers
    ADD COLUMN origin_id bigint,
    -- When the origin first got the value, among the Space's merges: a number of receipt_ids drawn
    -- under the Space's lock, as the ids of merges are. A receipt's own number would not tell, as
    -- a replayed one is processed out of its turn.
    ADD COLUMN since bigint;
UPDATE contact_identifiers SET origin_id = contact_id, since = recency;
ALTER TABLE contact_identifiers
    ALTER COLUMN origin_id SET NOT NULL,
    ALTER COLUMN since SET NOT NULL,
    DROP CONSTRAINT contact_identifiers_pkey,
    ADD PRIMARY KEY (space_id, kind, value, origin_id);

ALTER TABLE merges
    ALTER COLUMN id DROP IDENTITY;
ALTER TABLE merges
    ALTER COLUMN id SET DEFAULT nextval('receipt_ids'),
    -- The company that the merged contact had.
    ADD COLUMN company_id bigint,
    -- The survivor's columns that were empty and took the merged contact's value.
    ADD COLUMN filled text[] NOT NULL DEFAULT '{}',
    ADD COLUMN undone_at timestamptz;
CREATE INDEX merges_survivor ON merges (space_id, survivor_id);
CREATE INDEX merges_merged ON merges (space_id, merged_id);

-- A visit is a run of page views; a hit is one page view.
CREATE TABLE visits (
    space_id bigint NOT NULL,
    id bigint NOT NULL,
    contact_id bigint NOT NULL,
    origin_id bigint,
    company_id bigint,
    started_at timestamptz NOT NULL,
    last_hit_at timestamptz NOT NULL,
    PRIMARY KEY (space_id, id)
);
CREATE INDEX visits_contact ON visits (space_id, contact_id, started_at);

CREATE TABLE hits (
    space_id bigint NOT NULL,
    id bigint NOT NULL,
    contact_id bigint NOT NULL,
    origin_id bigint,
    visit_id bigint NOT NULL,
    occurred_at timestamptz NOT NULL,
    event_name text NOT NULL,
    url text,
    referrer_host text,
    -- sources/catalogue.py numbers the sources.
    source_id smallint CHECK (source_id BETWEEN 1 AND 62),
    country text,
    device_type text,
    browser text,
    os text,
    PRIMARY KEY (space_id, id)
);
CREATE INDEX hits_contact ON hits (space_id, contact_id, occurred_at, id);

-- What was asked to be erased, and what became of it. The row is the job.
CREATE TABLE erasures (
    space_id bigint NOT NULL,
    id bigint GENERATED ALWAYS AS IDENTITY,
    -- The canonical contact when it was asked; merges are followed again when it is done.
    contact_id bigint NOT NULL,
    requested_at timestamptz NOT NULL DEFAULT now(),
    -- The latest receipt at that time: what was accepted up to it is processed first.
    receipt_mark bigint NOT NULL,
    attempts int NOT NULL DEFAULT 0,
    retry_at timestamptz NOT NULL DEFAULT now(),
    -- Why the latest attempt failed, in words that hold no data.
    last_error text,
    erased_at timestamptz,
    PRIMARY KEY (space_id, id)
);
CREATE INDEX erasures_waiting ON erasures (space_id, id) WHERE erased_at IS NULL;

-- PostgreSQL's statistics keep samples of what is stored, also of what has been erased since. So
-- no column that can hold personal data has any; setting a column's type, even to the same one,
-- drops what had been gathered.
DO $$
DECLARE
    place record;
BEGIN
    FOR place IN
        SELECT c.oid::regclass AS relation, a.attname AS name,
               format_type(a.atttypid, a.atttypmod) AS type
        FROM pg_attribute a
        JOIN pg_class c ON c.oid = a.attrelid AND c.relkind = 'r'
        WHERE c.relnamespace = current_schema()::regnamespace AND a.attnum > 0
          AND NOT a.attisdropped
          AND (
            c.relname = 'contacts' AND (a.attname LIKE 'profile\_field\_%' OR a.attname IN
                ('email', 'name', 'phone', 'location', 'city', 'state', 'country', 'device_type',
                 'os', 'browser', 'language'))
            OR (c.relname, a.attname) IN (
                ('contact_identifiers', 'value'), ('inbox', 'payload'), ('rejected', 'payload'),
                ('events', 'user_agent'), ('events', 'ip'), ('events', 'event_url'),
                ('events', 'order_id'), ('events', 'order_name'), ('events', 'checkout_token'),
                ('events', 'upsell_common_id'), ('events', 'idempotency_key'),
                ('events', 'company_external_id'),
                ('touchpoints', 'campaign_id'), ('touchpoints', 'campaign_name'),
                ('touchpoints', 'adset_id'), ('touchpoints', 'adset_name'),
                ('touchpoints', 'ad_id'), ('touchpoints', 'ad_name'),
                ('touchpoints', 'account_id'), ('touchpoints', 'account_name'),
                ('touchpoints', 'keyword'), ('touchpoints', 'url'),
                ('touchpoints', 'referrer_host'),
                ('companies', 'domain'), ('companies', 'external_id'), ('companies', 'name'),
                ('hits', 'event_name'), ('hits', 'url'), ('hits', 'referrer_host'),
                ('hits', 'country'), ('hits', 'device_type'), ('hits', 'browser'),
                ('hits', 'os')))
    LOOP
        EXECUTE format('ALTER TABLE %s ALTER COLUMN %I TYPE %s, ALTER COLUMN %I SET STATISTICS 0',
                       place.relation, place.name, place.type, place.name);
    END LOOP;
END $$;
