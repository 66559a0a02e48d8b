-- What ads have cost, as the platforms report it: a row for each day, place in an ad account, country
-- and currency. Of several reports of one key the latest counts: that with the latest `as_of`, of one
-- moment the last row, so that the ledger does not depend on the order in which reports come in.
CREATE TABLE spend (
    space_id bigint NOT NULL,
    -- On the ad account's clock.
    date date NOT NULL,
    -- A hash of the eight columns that, with the date, make the row's key: ids may be long names,
    -- which an index cannot hold.
    key bytea NOT NULL CHECK (length(key) = 16),
    platform text NOT NULL,
    -- Empty where the row is of more than one: of all campaigns of an account, of all countries.
    account_id text NOT NULL,
    campaign_id text NOT NULL,
    adset_id text NOT NULL,
    ad_id text NOT NULL,
    country text NOT NULL,
    currency text NOT NULL CHECK (currency ~ '^[A-Z]{3}$'),
    amount numeric(20, 6) NOT NULL CHECK (amount >= 0),
    impressions bigint CHECK (impressions >= 0),
    clicks bigint CHECK (clicks >= 0),
    -- By the platform's own count, and in the row's currency.
    platform_conversions numeric(20, 6) CHECK (platform_conversions >= 0),
    platform_revenue numeric(20, 6) CHECK (platform_revenue >= 0),
    -- The ad account's zone; null where nobody has named it.
    timezone text,
    -- When the platform reported this, and the row's place in that report.
    as_of timestamptz NOT NULL,
    place integer NOT NULL,
    -- The order in which keys were first stored, which is the order of the list within a day.
    number bigint GENERATED ALWAYS AS IDENTITY,
    PRIMARY KEY (space_id, date, key)
);
CREATE UNIQUE INDEX spend_number ON spend (space_id, date, number);

ALTER TABLE imports
    DROP CONSTRAINT imports_kind_check,
    ADD CHECK (kind IN ('events', 'touchpoints', 'contacts', 'ads', 'spend'));
ALTER TABLE import_jobs
    DROP CONSTRAINT import_jobs_kind_check,
    ADD CHECK (kind IN ('events', 'touchpoints', 'contacts', 'ads', 'spend'));
