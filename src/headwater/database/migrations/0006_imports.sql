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
