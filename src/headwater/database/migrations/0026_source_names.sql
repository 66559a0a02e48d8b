-- Names of sources that a Space has of its own: what its links have in utm_source, in lower case, and
-- the listed source that it stands for. They count for what is processed from then on.

CREATE TABLE source_names (
    space_id bigint NOT NULL REFERENCES spaces,
    name text NOT NULL,
    -- As sources/catalogue.py lists it.
    source text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (space_id, name)
);
