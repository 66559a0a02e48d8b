-- Background jobs that have failed for a Space by a fault of ours, for as long as they do.
CREATE TABLE failed_jobs (
    space_id bigint NOT NULL REFERENCES spaces ON DELETE CASCADE,
    job text NOT NULL,
    -- The kind of the error, without what it says: that may quote a person.
    error text NOT NULL,
    since timestamptz NOT NULL,
    failed_at timestamptz NOT NULL,
    PRIMARY KEY (space_id, job)
);
