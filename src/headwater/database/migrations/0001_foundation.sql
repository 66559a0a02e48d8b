-- The Space is the unit of tenancy, ordering, locking and sharding: every tenant table's primary
-- key begins with space_id, and so does every index and foreign reference between tenant tables.
-- No triggers and no cross-Space statements, so that the tables can be distributed by space_id.

-- Timestamps as the API shows them: UTC, milliseconds only when they are not zero.
CREATE FUNCTION iso_utc(moment timestamptz) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN to_char(
    moment AT TIME ZONE 'UTC',
    CASE WHEN date_trunc('second', moment AT TIME ZONE 'UTC') = moment AT TIME ZONE 'UTC'
         THEN 'YYYY-MM-DD"T"HH24:MI:SS"Z"' ELSE 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"' END);

-- One row: what this installation made up for itself.
CREATE TABLE installation (
    singleton boolean PRIMARY KEY DEFAULT true CHECK (singleton),
    secret_key text NOT NULL DEFAULT replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', '')
);
INSERT INTO installation DEFAULT VALUES;

CREATE TABLE spaces (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL,
    timezone text NOT NULL DEFAULT 'UTC',
    currency text NOT NULL DEFAULT 'USD' CHECK (currency ~ '^[A-Z]{3}$'),
    company_identity_mode text NOT NULL DEFAULT 'auto'
        CHECK (company_identity_mode IN ('auto', 'external_id')),
    subscription text NOT NULL DEFAULT 'active' CHECK (subscription IN ('active', 'inactive')),
    phone_region text CHECK (phone_region ~ '^[A-Z]{2}$'),
    -- Values this Space never takes as an identifier, beyond the ones that ship with Headwater.
    ignored_identifiers text[] NOT NULL DEFAULT '{}',
    created_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE event_labels (
    space_id bigint NOT NULL REFERENCES spaces,
    event_name text NOT NULL,
    label text NOT NULL,
    PRIMARY KEY (space_id, event_name)
);

CREATE TABLE field_labels (
    space_id bigint NOT NULL REFERENCES spaces,
    field text NOT NULL,
    label text NOT NULL,
    PRIMARY KEY (space_id, field)
);

CREATE TABLE api_keys (
    space_id bigint NOT NULL REFERENCES spaces,
    id bigint GENERATED ALWAYS AS IDENTITY,
    name text NOT NULL,
    -- SHA-256 of the key: 256 random bits need no slow hash.
    key_hash bytea NOT NULL UNIQUE CHECK (length(key_hash) = 32),
    -- The key's last four characters, for people telling their keys apart.
    hint text NOT NULL,
    scopes text[] NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    revoked_at timestamptz,
    PRIMARY KEY (space_id, id)
);

-- An operator's own limit for one Space and bucket, per minute, before the global factor.
CREATE TABLE space_limits (
    space_id bigint NOT NULL REFERENCES spaces,
    bucket text NOT NULL,
    per_minute bigint NOT NULL CHECK (per_minute >= 0),
    PRIMARY KEY (space_id, bucket)
);

-- The current minute of each bucket. Losing it in a crash costs at most one minute's count.
CREATE UNLOGGED TABLE rate_limits (
    space_id bigint NOT NULL,
    bucket text NOT NULL,
    window_start timestamptz NOT NULL,
    allowed bigint NOT NULL,
    -- What the latest taking got.
    granted bigint NOT NULL,
    used bigint NOT NULL,
    PRIMARY KEY (space_id, bucket)
) WITH (fillfactor = 50);

-- One number line for everything that arrives. A receipt's id becomes the id of the event and of
-- the touchpoint the request makes, so a receipt leads to both without a table of its own, and
-- ids follow the order of arrival.
CREATE SEQUENCE receipt_ids;

CREATE TABLE inbox (
    space_id bigint NOT NULL,
    id bigint NOT NULL DEFAULT nextval('receipt_ids'),
    kind text NOT NULL,
    received_at timestamptz NOT NULL,
    payload text NOT NULL,
    PRIMARY KEY (space_id, id)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000);

-- Rows the pipeline could not process, kept whole so that they can be replayed.
CREATE TABLE rejected (
    space_id bigint NOT NULL,
    id bigint NOT NULL,
    kind text NOT NULL,
    received_at timestamptz NOT NULL,
    payload text NOT NULL,
    reason text NOT NULL,
    detail text NOT NULL,
    rejected_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (space_id, id)
);

-- Accepted requests that were dropped as duplicates of a stored event.
CREATE TABLE duplicates (
    space_id bigint NOT NULL,
    id bigint NOT NULL,
    reason text NOT NULL CHECK (reason IN ('idempotency_key', 'order_id')),
    event_id bigint NOT NULL,
    received_at timestamptz NOT NULL,
    PRIMARY KEY (space_id, id)
);

CREATE SEQUENCE company_ids;

CREATE TABLE companies (
    space_id bigint NOT NULL,
    id bigint NOT NULL DEFAULT nextval('company_ids'),
    domain text,
    external_id text,
    name text NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (space_id, id)
);
CREATE UNIQUE INDEX companies_domain ON companies (space_id, domain);
CREATE UNIQUE INDEX companies_external_id ON companies (space_id, external_id);
CREATE INDEX companies_created ON companies (space_id, created_at, id);

-- Ids grow with age under the Space's lock, so the lowest id is the oldest contact.
CREATE SEQUENCE contact_ids;

CREATE TABLE contacts (
    space_id bigint NOT NULL,
    id bigint NOT NULL DEFAULT nextval('contact_ids'),
    created_at timestamptz NOT NULL,
    -- The surviving contact, which is never itself merged: one hop resolves any id.
    merged_into bigint CHECK (merged_into < id),
    company_id bigint,
    -- One bit per source (bit n = source id n) of any touchpoint this contact has: never less
    -- than the truth, so it can rule an event out but not in. See attribution/.
    source_mask bigint NOT NULL DEFAULT 0,
    -- The primary value of each kind; contact_identifiers holds all of them.
    email text,
    name text,
    phone text,
    location text,
    city text,
    state text,
    country text,
    device_type text,
    os text,
    browser text,
    language text,
    profile_field_1 text, profile_field_2 text, profile_field_3 text, profile_field_4 text,
    profile_field_5 text, profile_field_6 text, profile_field_7 text, profile_field_8 text,
    profile_field_9 text, profile_field_10 text, profile_field_11 text, profile_field_12 text,
    profile_field_13 text, profile_field_14 text, profile_field_15 text,
    profile_field_16 numeric, profile_field_17 numeric, profile_field_18 numeric,
    profile_field_19 numeric, profile_field_20 numeric, profile_field_21 numeric,
    profile_field_22 numeric, profile_field_23 numeric, profile_field_24 numeric,
    profile_field_25 numeric,
    -- A date given without a time is its midnight in the Space's zone.
    profile_field_26 timestamptz, profile_field_27 timestamptz, profile_field_28 timestamptz,
    profile_field_29 timestamptz, profile_field_30 timestamptz,
    PRIMARY KEY (space_id, id)
) WITH (fillfactor = 85);
CREATE INDEX contacts_merged_into ON contacts (space_id, merged_into) WHERE merged_into IS NOT NULL;
CREATE INDEX contacts_company ON contacts (space_id, company_id) WHERE company_id IS NOT NULL;
CREATE INDEX contacts_created ON contacts (space_id, created_at, id);

-- Every value known of a contact: what identifies it (email, tracking_id, trk_token,
-- fingerprint) and what describes it (phone, name, location).
CREATE TABLE contact_identifiers (
    space_id bigint NOT NULL,
    kind text NOT NULL CHECK (kind IN
        ('email', 'tracking_id', 'trk_token', 'fingerprint', 'phone', 'name', 'location')),
    value text NOT NULL,
    contact_id bigint NOT NULL,
    first_seen_at timestamptz NOT NULL,
    last_seen_at timestamptz NOT NULL,
    -- The receipt that last brought the value: arrival order, without ties. A token or an
    -- identifier listed for several contacts belongs to the row of the highest.
    recency bigint NOT NULL,
    PRIMARY KEY (space_id, kind, value, contact_id)
) WITH (fillfactor = 85);
CREATE INDEX contact_identifiers_contact ON contact_identifiers (space_id, contact_id, kind);

CREATE TABLE merges (
    space_id bigint NOT NULL,
    id bigint GENERATED ALWAYS AS IDENTITY,
    merged_id bigint NOT NULL,
    survivor_id bigint NOT NULL,
    -- The kind of identifier that joined the two, and the receipt that carried it.
    cause text NOT NULL,
    receipt_id bigint,
    merged_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (space_id, id)
);

CREATE TABLE events (
    space_id bigint NOT NULL,
    id bigint NOT NULL,
    contact_id bigint NOT NULL,
    company_id bigint,
    event_name text NOT NULL,
    event_time timestamptz NOT NULL,
    amount numeric(19, 4) CHECK (amount <> 'NaN'),
    is_upsell boolean NOT NULL DEFAULT false,
    order_id text,
    order_name text,
    checkout_token text,
    upsell_common_id text,
    idempotency_key text,
    company_external_id text,
    event_url text,
    user_agent text,
    ip text,
    do_not_capi boolean NOT NULL DEFAULT false,
    -- A superset of the sources on the contact's path at the time of the event.
    source_mask bigint NOT NULL DEFAULT 0,
    -- What the pipeline noticed, e.g. an identifier ignored as junk.
    warnings text[],
    received_at timestamptz NOT NULL,
    PRIMARY KEY (space_id, id)
);
-- Covers finding a page's events, so that those a filter rules out cost no heap fetch.
CREATE INDEX events_time ON events (space_id, event_time, id)
    INCLUDE (contact_id, company_id, source_mask, amount, event_name);
CREATE INDEX events_contact ON events (space_id, contact_id, event_time);
CREATE INDEX events_company ON events (space_id, company_id) WHERE company_id IS NOT NULL;
CREATE UNIQUE INDEX events_idempotency ON events (space_id, event_name, idempotency_key)
    WHERE idempotency_key IS NOT NULL;
CREATE UNIQUE INDEX events_order ON events (space_id, event_name, order_id)
    WHERE order_id IS NOT NULL AND NOT is_upsell AND event_name <> 'upsell_purchase';

CREATE TABLE touchpoints (
    space_id bigint NOT NULL,
    id bigint NOT NULL,
    contact_id bigint NOT NULL,
    company_id bigint,
    occurred_at timestamptz NOT NULL,
    -- sources/catalogue.py numbers the sources.
    source_id smallint NOT NULL CHECK (source_id BETWEEN 1 AND 62),
    -- Which rule named the source.
    source_rule text NOT NULL,
    campaign_id text,
    campaign_name text,
    adset_id text,
    adset_name text,
    ad_id text,
    ad_name text,
    account_id text,
    account_name text,
    keyword text,
    url text,
    referrer_host text,
    PRIMARY KEY (space_id, id)
);
-- The index attribution stands on: a contact's path in order, without touching the heap.
CREATE INDEX touchpoints_contact ON touchpoints (space_id, contact_id, occurred_at, id)
    INCLUDE (source_id);
CREATE INDEX touchpoints_company ON touchpoints (space_id, company_id, occurred_at, id)
    INCLUDE (source_id) WHERE company_id IS NOT NULL;
CREATE INDEX touchpoints_source ON touchpoints (space_id, source_id, contact_id);
