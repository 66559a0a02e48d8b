-- Pages of reports that somebody keeps under a name: an address without the host.
CREATE TABLE saved_views (
    space_id bigint NOT NULL REFERENCES spaces ON DELETE CASCADE,
    id bigint GENERATED ALWAYS AS IDENTITY,
    user_id bigint NOT NULL REFERENCES users ON DELETE CASCADE,
    name text NOT NULL CHECK (length(name) BETWEEN 1 AND 80),
    page text NOT NULL,
    -- The part of the address after the `?`.
    query text NOT NULL CHECK (length(query) <= 2000),
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (space_id, id),
    UNIQUE (space_id, user_id, name)
);
CREATE INDEX saved_views_user ON saved_views (user_id);
