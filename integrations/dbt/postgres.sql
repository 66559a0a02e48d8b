-- Load exports into PostgreSQL: lines of JSON in the folder headwater, events*.ndjson and so on.
-- Run it with psql as often as you like; each run replaces all rows.
\set ON_ERROR_STOP on
SET client_min_messages = warning;
SET TimeZone = 'UTC';
BEGIN;

CREATE SCHEMA IF NOT EXISTS headwater;
CREATE TABLE IF NOT EXISTS headwater.events (
    id bigint PRIMARY KEY,
    event_time_utc timestamptz NOT NULL,
    profile_id text,
    company_id text,
    event_name text,
    amount numeric,
    currency text,
    amount_in_space_currency numeric,
    is_upsell boolean,
    order_id text,
    order_name text
);
CREATE TABLE IF NOT EXISTS headwater.credits (
    id bigint NOT NULL,
    touchpoint_id bigint NOT NULL,
    event_time_utc timestamptz NOT NULL,
    event_name text,
    source text,
    campaign_id text,
    campaign_name text,
    amount numeric,
    currency text,
    amount_in_space_currency numeric,
    PRIMARY KEY (id, touchpoint_id)
);
CREATE TABLE IF NOT EXISTS headwater.contacts (
    id bigint PRIMARY KEY,
    email text,
    name text,
    phone text,
    location text,
    emails text[],
    profile_field_1 text, profile_field_2 text, profile_field_3 text,
    profile_field_4 text, profile_field_5 text, profile_field_6 text,
    profile_field_7 text, profile_field_8 text, profile_field_9 text,
    profile_field_10 text, profile_field_11 text, profile_field_12 text,
    profile_field_13 text, profile_field_14 text, profile_field_15 text,
    profile_field_16 numeric, profile_field_17 numeric, profile_field_18 numeric,
    profile_field_19 numeric, profile_field_20 numeric, profile_field_21 numeric,
    profile_field_22 numeric, profile_field_23 numeric, profile_field_24 numeric,
    profile_field_25 numeric, profile_field_26 text, profile_field_27 text,
    profile_field_28 text, profile_field_29 text, profile_field_30 text
);
CREATE TABLE IF NOT EXISTS headwater.companies (
    id bigint PRIMARY KEY,
    domain text,
    external_id text,
    name text,
    created_at timestamptz
);
TRUNCATE headwater.events, headwater.credits, headwater.contacts, headwater.companies;

-- No line contains the quote and the delimiter, because JSON escapes control characters.
CREATE TEMPORARY TABLE lines (line jsonb) ON COMMIT DROP;

\copy lines FROM PROGRAM 'cat headwater/events*.ndjson' (FORMAT csv, QUOTE E'\001', DELIMITER E'\002')
INSERT INTO headwater.events SELECT loaded.* FROM lines, jsonb_populate_record(NULL::headwater.events, line) AS loaded;
TRUNCATE lines;

\copy lines FROM PROGRAM 'cat headwater/credits*.ndjson' (FORMAT csv, QUOTE E'\001', DELIMITER E'\002')
INSERT INTO headwater.credits SELECT loaded.* FROM lines, jsonb_populate_record(NULL::headwater.credits, line) AS loaded;
TRUNCATE lines;

\copy lines FROM PROGRAM 'cat headwater/contacts*.ndjson' (FORMAT csv, QUOTE E'\001', DELIMITER E'\002')
INSERT INTO headwater.contacts SELECT loaded.* FROM lines, jsonb_populate_record(NULL::headwater.contacts, line) AS loaded;
TRUNCATE lines;

\copy lines FROM PROGRAM 'cat headwater/companies*.ndjson' (FORMAT csv, QUOTE E'\001', DELIMITER E'\002')
INSERT INTO headwater.companies SELECT loaded.* FROM lines, jsonb_populate_record(NULL::headwater.companies, line) AS loaded;

COMMIT;
