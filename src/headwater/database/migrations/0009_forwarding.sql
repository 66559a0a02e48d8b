-- Forwarding to ad platforms: where to, and what became of each event there.

-- What a Space's events say about consent when they do not say it themselves.
ALTER TABLE spaces ADD COLUMN ad_consent text NOT NULL DEFAULT 'unknown'
    CHECK (ad_consent IN ('granted', 'denied', 'unknown'));

CREATE TABLE destinations (
    space_id bigint NOT NULL REFERENCES spaces,
    id bigint GENERATED ALWAYS AS IDENTITY,
    platform text NOT NULL,
    name text NOT NULL,
    -- A paused destination skips the events that arrive meanwhile; a held one, whose platform
    -- refused its credentials, keeps them waiting.
    status text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'paused', 'held', 'removed')),
    -- Why it is held, in words.
    status_reason text,
    -- Whether events without a credited touchpoint of the platform go there as well.
    all_events boolean NOT NULL DEFAULT false,
    settings jsonb NOT NULL DEFAULT '{}',
    -- Event name → the platform's name or id where it is not the default; null: not sent.
    event_names jsonb NOT NULL DEFAULT '{}',
    -- The platform's tokens as one JSON object, encrypted, and their names.
    secrets bytea,
    secret_names text[] NOT NULL DEFAULT '{}',
    created_at timestamptz NOT NULL DEFAULT now(),
    -- Nothing is sent before: the platform asked for it, or has been failing.
    wait_until timestamptz NOT NULL DEFAULT '-infinity',
    -- Calls in a row that failed for the destination as a whole.
    failures int NOT NULL DEFAULT 0,
    -- Who is sending, and until when nobody else does.
    lease uuid,
    leased_until timestamptz,
    PRIMARY KEY (space_id, id)
);

-- One row for each event and destination, written with the event.
CREATE TABLE deliveries (
    space_id bigint NOT NULL,
    id bigint GENERATED ALWAYS AS IDENTITY,
    destination_id bigint NOT NULL,
    event_id bigint NOT NULL,
    -- What the platform tells repeats by: given once, the same on every attempt.
    dedup_id text NOT NULL,
    status text NOT NULL DEFAULT 'queued'
        CHECK (status IN ('queued', 'retrying', 'delivered', 'failed', 'expired', 'skipped')),
    -- Of a skipped one.
    reason text,
    attempts int NOT NULL DEFAULT 0,
    due_at timestamptz NOT NULL DEFAULT now(),
    -- Since when it is tried: when it was written, or last replayed.
    queued_at timestamptz NOT NULL DEFAULT now(),
    -- The touchpoint that was credited.
    touchpoint_id bigint,
    -- Of the last attempt: its error in words, the platform's HTTP status, the event's part of the
    -- request without personal data, and the beginning of the answer.
    error text,
    http_status smallint,
    request jsonb,
    answer text,
    created_at timestamptz NOT NULL DEFAULT now(),
    finished_at timestamptz,
    PRIMARY KEY (space_id, id),
    UNIQUE (space_id, event_id, destination_id)
);
CREATE INDEX deliveries_due ON deliveries (space_id, destination_id, due_at, id)
    WHERE status IN ('queued', 'retrying');
CREATE INDEX deliveries_destination ON deliveries (space_id, destination_id, id);
-- Counted by status without reading them, and listed by status or reason, the latest first.
CREATE INDEX deliveries_status ON deliveries (space_id, destination_id, status, id);
CREATE INDEX deliveries_reason ON deliveries (space_id, destination_id, reason, id)
    WHERE reason IS NOT NULL;

CREATE TABLE delivery_attempts (
    space_id bigint NOT NULL,
    id bigint GENERATED ALWAYS AS IDENTITY,
    delivery_id bigint NOT NULL,
    attempted_at timestamptz NOT NULL,
    outcome text NOT NULL,
    http_status smallint,
    error text,
    PRIMARY KEY (space_id, id)
);
CREATE INDEX delivery_attempts_delivery ON delivery_attempts (space_id, delivery_id, id);

ALTER TABLE deliveries ALTER COLUMN dedup_id SET STATISTICS 0, ALTER COLUMN error SET STATISTICS 0,
    ALTER COLUMN request SET STATISTICS 0, ALTER COLUMN answer SET STATISTICS 0;
ALTER TABLE delivery_attempts ALTER COLUMN error SET STATISTICS 0;

-- Before anything is sent it is asked whether its person is to be erased.
CREATE INDEX erasures_contact ON erasures (space_id, contact_id);
