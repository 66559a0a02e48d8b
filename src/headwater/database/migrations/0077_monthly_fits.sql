-- The names of events that a Space has a fit made of every month, and by which it goes from then on.
CREATE TABLE monthly_fits (
    space_id bigint NOT NULL REFERENCES spaces ON DELETE CASCADE,
    event_name text NOT NULL,
    -- When the next is due; an hour later while one is being made.
    next_at timestamptz NOT NULL,
    -- Why there was none the last time, in words.
    error text,
    PRIMARY KEY (space_id, event_name)
);

CREATE INDEX monthly_fits_due ON monthly_fits (next_at);
