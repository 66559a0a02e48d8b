-- Links by which somebody without an account sees one page of reports, as it was chosen.
CREATE TABLE share_links (
    space_id bigint NOT NULL REFERENCES spaces ON DELETE CASCADE,
    id bigint GENERATED ALWAYS AS IDENTITY,
    name text NOT NULL CHECK (length(name) BETWEEN 1 AND 80),
    page text NOT NULL,
    -- The part of the page's address after the `?`.
    query text NOT NULL CHECK (length(query) <= 2000),
    token_hash bytea NOT NULL UNIQUE,
    made_by bigint REFERENCES users ON DELETE SET NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL,
    revoked_at timestamptz,
    -- To the minute.
    last_opened_at timestamptz,
    PRIMARY KEY (space_id, id)
);
CREATE INDEX share_links_made_by ON share_links (made_by);
