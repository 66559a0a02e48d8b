-- What the ids of an ad platform are called. Touchpoints keep the id they came with; the name is
-- looked up when they are read, so that a name that changes is right everywhere at once.
CREATE TABLE ad_names (
    space_id bigint NOT NULL,
    kind text NOT NULL CHECK (kind IN ('campaign', 'adset', 'ad', 'account')),
    id text NOT NULL,
    name text NOT NULL,
    platform text,
    -- The order in which ids were first named, which is the order of the list.
    number bigint GENERATED ALWAYS AS IDENTITY,
    updated_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (space_id, kind, id)
);
CREATE UNIQUE INDEX ad_names_number ON ad_names (space_id, number);
