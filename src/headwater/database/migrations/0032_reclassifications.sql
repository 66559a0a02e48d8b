-- Names of sources whose change is being applied to what was processed before it: a row is the work
-- that is left, and is deleted with its last piece.
CREATE TABLE reclassifications (
    space_id bigint NOT NULL REFERENCES spaces,
    -- A value of utm_source, as in source_names; it may have been taken away there.
    name text NOT NULL,
    -- Touchpoints and page views are gone through by their ids: from the first there was, up to the
    -- last receipt that had been given out when the name was changed.
    first_id bigint NOT NULL,
    after_id bigint NOT NULL,
    until_id bigint NOT NULL,
    -- Touchpoints that have another source or rule since.
    changed bigint NOT NULL DEFAULT 0,
    requested_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (space_id, name)
);
