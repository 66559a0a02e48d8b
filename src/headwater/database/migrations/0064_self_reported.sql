-- What people answer when they are asked how they heard of the business, and the source that each
-- answer counts as: beside what led to an event, never part of it.

ALTER TABLE events
    ADD COLUMN heard_about_us text,
    -- As sources/answers.py lists it. It stays when the person is erased, and the answer goes.
    ADD COLUMN self_reported_source text;

-- No samples of what people wrote are kept by the planner.
ALTER TABLE events ALTER COLUMN heard_about_us SET STATISTICS 0;

-- What a contact answered last.
CREATE INDEX events_self_reported ON events (space_id, contact_id, event_time, id)
    INCLUDE (self_reported_source) WHERE self_reported_source IS NOT NULL;

-- All answers, one after another.
CREATE INDEX events_answers ON events (space_id, id) WHERE heard_about_us IS NOT NULL;

-- Phrases of answers that a Space has of its own, and what they stand for.
CREATE TABLE answer_phrases (
    space_id bigint NOT NULL REFERENCES spaces,
    -- Words without case and accents.
    phrase text NOT NULL,
    source text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (space_id, phrase)
);

-- Stored answers that are read anew, as the phrases have changed: those of events above one id, up to
-- another. The row is deleted with the last piece.
CREATE TABLE answer_rereadings (
    space_id bigint PRIMARY KEY REFERENCES spaces,
    after_id bigint NOT NULL,
    until_id bigint NOT NULL
);
