-- Touchpoints that were sent by themselves, not made by an event. Such a row is all that became of
-- its receipt, while an event's receipt ends with the event.
ALTER TABLE touchpoints
    ADD COLUMN sent boolean NOT NULL DEFAULT false,
    -- What the pipeline noticed of one that was sent, e.g. an identifier ignored as junk.
    ADD COLUMN warnings text[];

-- A touchpoint that was sent and repeats one of its contact's is dropped as well, though there is
-- no event that it repeats.
ALTER TABLE duplicates
    ALTER COLUMN event_id DROP NOT NULL,
    DROP CONSTRAINT duplicates_reason_check,
    ADD CHECK (reason IN ('idempotency_key', 'order_id', 'repeated_touch')),
    ADD CHECK ((event_id IS NULL) = (reason = 'repeated_touch'));

-- Files brought in at a terminal, by what is in them: how far each is, written in the transactions
-- that store its rows.
CREATE TABLE imports (
    space_id bigint NOT NULL,
    kind text NOT NULL CHECK (kind IN ('events', 'touchpoints', 'contacts', 'ads')),
    -- SHA-256 of the file.
    digest bytea NOT NULL CHECK (length(digest) = 32),
    -- Which column was read as which field: another mapping is another import.
    mapping text NOT NULL,
    rows_done bigint NOT NULL DEFAULT 0,
    taken bigint NOT NULL DEFAULT 0,
    refused bigint NOT NULL DEFAULT 0,
    started_at timestamptz NOT NULL DEFAULT now(),
    finished_at timestamptz,
    PRIMARY KEY (space_id, kind, digest, mapping)
);
