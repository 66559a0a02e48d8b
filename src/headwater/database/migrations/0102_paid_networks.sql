-- Paid networks that a Space has besides the listed sources, each with a number of its own: touchpoints
-- are stored under it. A number is never given to another network, because former rows keep it; a
-- network that was removed is kept for its number and name.

CREATE TABLE paid_networks (
    space_id bigint NOT NULL REFERENCES spaces,
    -- sources/networks.py says which numbers there are.
    number smallint NOT NULL CHECK (number BETWEEN 64 AND 253),
    name text NOT NULL,
    -- Values of utm_source and trk_source besides the name, in lower case.
    spellings text[] NOT NULL,
    -- What the spend ledger calls it.
    platform text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    removed_at timestamptz,
    PRIMARY KEY (space_id, number),
    UNIQUE (space_id, name)
);

-- The numbers of these lie above those of listed sources. NOT VALID, because every row has met the
-- narrower rule, and reading them all would lock the tables.
ALTER TABLE touchpoints
    DROP CONSTRAINT touchpoints_source_id_check1,
    ADD CONSTRAINT touchpoints_source_id_check CHECK (source_id BETWEEN 1 AND 253) NOT VALID;
ALTER TABLE hits
    DROP CONSTRAINT hits_source_id_check,
    ADD CONSTRAINT hits_source_id_check CHECK (source_id BETWEEN 1 AND 253) NOT VALID;
