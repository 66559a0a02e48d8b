-- Sites, whose pages report visits, and what is kept of page views to tell where visits begin and
-- what brought them.

CREATE TABLE sites (
    space_id bigint NOT NULL REFERENCES spaces,
    id bigint GENERATED ALWAYS AS IDENTITY,
    name text NOT NULL,
    -- Public: it stands in every page. It only lets browsers write, from pages of these origins.
    site_key text NOT NULL UNIQUE,
    origins text[] NOT NULL,
    -- Page views by bots, which are left out.
    bot_hits bigint NOT NULL DEFAULT 0,
    created_at timestamptz NOT NULL DEFAULT now(),
    revoked_at timestamptz,
    PRIMARY KEY (space_id, id)
);

-- Hosts that never make a touch, besides the sites' own, and hosts that do although they ship as
-- excluded.
ALTER TABLE spaces
    ADD COLUMN own_domains text[] NOT NULL DEFAULT '{}',
    ADD COLUMN excluded_referrers text[] NOT NULL DEFAULT '{}',
    ADD COLUMN heeded_referrers text[] NOT NULL DEFAULT '{}';

-- A visit is a run of page views of one contact in one browser, which the device tells: a hash of
-- its token. Nothing has filled these tables before.
ALTER TABLE visits ADD COLUMN device uuid NOT NULL;
-- In place of the one by contact alone. Not by last_hit_at: page views change that, and a row none
-- of whose indexed columns changes is cheap to update.
CREATE INDEX visits_device ON visits (space_id, contact_id, device, started_at);
DROP INDEX visits_contact;
ALTER TABLE visits SET (fillfactor = 85);

ALTER TABLE hits
    -- Given by the browser, so that a page view sent twice counts once.
    ADD COLUMN key uuid NOT NULL,
    ADD COLUMN language text,
    -- The campaign parameters and click ids of the page's URL in one text, to tell whether another
    -- page view carries the same; NULL when it carries none.
    ADD COLUMN campaign text,
    -- Where it came from, if it began its visit when it came, or has a campaign: what it makes a
    -- touchpoint of, if it does. No other page view ever makes one.
    ADD COLUMN touch jsonb;
CREATE UNIQUE INDEX hits_key ON hits (space_id, key);
CREATE INDEX hits_visit ON hits (space_id, visit_id, occurred_at, id) WHERE touch IS NOT NULL;
CREATE INDEX hits_touches ON hits (space_id, contact_id, occurred_at) WHERE touch IS NOT NULL;

-- A page view that came before is dropped, and named by its key alone.
ALTER TABLE duplicates
    DROP CONSTRAINT duplicates_reason_check,
    DROP CONSTRAINT duplicates_check,
    ADD CHECK (reason IN ('idempotency_key', 'order_id', 'repeated_touch', 'repeated_hit')),
    ADD CHECK ((event_id IS NULL) = (reason IN ('repeated_touch', 'repeated_hit')));

-- When a click id was first seen, and in which browser: on a link that somebody passed on it says
-- nothing about whoever follows it later.
CREATE TABLE clicks (
    space_id bigint NOT NULL,
    -- A hash of the parameter's name and value.
    click uuid NOT NULL,
    device uuid NOT NULL,
    first_seen_at timestamptz NOT NULL,
    PRIMARY KEY (space_id, click)
);
CREATE INDEX clicks_device ON clicks (space_id, device);

ALTER TABLE touchpoints
    -- Whether it was made by the page view with its id.
    ADD COLUMN by_hit boolean NOT NULL DEFAULT false,
    -- The ad platforms' own cookies, as the browser had them: fbp, fbc, ttp, scid, rdt_uuid.
    ADD COLUMN cookies jsonb;

ALTER TABLE events
    ADD COLUMN currency text CHECK (currency ~ '^[A-Z]{3}$'),
    -- NULL where the event does not say.
    ADD COLUMN ad_user_data boolean,
    ADD COLUMN ad_personalization boolean,
    ADD COLUMN cookies jsonb;

ALTER TABLE hits ALTER COLUMN language SET STATISTICS 0, ALTER COLUMN campaign SET STATISTICS 0,
    ALTER COLUMN touch SET STATISTICS 0, ALTER COLUMN key SET STATISTICS 0;
ALTER TABLE visits ALTER COLUMN device SET STATISTICS 0;
ALTER TABLE clicks ALTER COLUMN click SET STATISTICS 0, ALTER COLUMN device SET STATISTICS 0;
ALTER TABLE touchpoints ALTER COLUMN cookies SET STATISTICS 0;
ALTER TABLE events ALTER COLUMN cookies SET STATISTICS 0;
