-- Webhooks that other services call: who they belong to and how their bodies are read.
CREATE TABLE webhooks (
    space_id bigint NOT NULL,
    id bigint GENERATED ALWAYS AS IDENTITY,
    type text NOT NULL
        CHECK (type IN ('generic', 'stripe', 'shopify', 'woocommerce', 'calendly')),
    name text NOT NULL,
    -- SHA-256 of the token in the URL: 256 random bits need no slow hash.
    token_hash bytea NOT NULL UNIQUE CHECK (length(token_hash) = 32),
    -- The token's last four characters, for people telling their URLs apart.
    hint text NOT NULL,
    -- What the sender signs with, encrypted under a key that is not in the database when
    -- HEADWATER_SECRET_KEY is set.
    secret bytea,
    -- Generic ones only: the header with the signature, and where a body says what happened.
    signature_header text,
    topic text,
    -- What differs from the ready-made mapping: topic to event name, field to expression.
    event_names jsonb NOT NULL DEFAULT '{}',
    mapping jsonb NOT NULL DEFAULT '{}',
    created_at timestamptz NOT NULL DEFAULT now(),
    revoked_at timestamptz,
    PRIMARY KEY (space_id, id)
);

-- The last deliveries of each, as they came: to see what is wrong, and to replay.
CREATE TABLE webhook_deliveries (
    space_id bigint NOT NULL,
    id bigint GENERATED ALWAYS AS IDENTITY,
    webhook_id bigint NOT NULL,
    received_at timestamptz NOT NULL,
    -- Those that say what a body is or may be mapped; never a credential.
    headers jsonb NOT NULL,
    -- Absent when nothing proves who sent it.
    body text,
    status text NOT NULL CHECK (status IN ('accepted', 'ignored', 'refused')),
    detail text NOT NULL,
    receipt_id bigint,
    -- The event's idempotency key.
    dedup_key text,
    PRIMARY KEY (space_id, id)
);
CREATE INDEX webhook_deliveries_latest ON webhook_deliveries (space_id, webhook_id, id);
ALTER TABLE webhook_deliveries
    ALTER COLUMN headers SET STATISTICS 0,
    ALTER COLUMN body SET STATISTICS 0,
    ALTER COLUMN detail SET STATISTICS 0,
    ALTER COLUMN dedup_key SET STATISTICS 0;
