-- What a Space's reports were made of, as it was: its changes are counted, and what a change takes
-- away or alters is kept as it was before, so that two readings of a report can be told apart.
--
--     change ──┬──▶ events, touchpoints, merges       as they are
--              ├──▶ revisions                         the number of the change, the Space's next
--              └──▶ new_rows, former_events,        what came with it, and what was before it
--                   former_touchpoints
--
-- A merge moves rows without changing what they are, and they know whose they were at first: it is
-- kept as the numbers of the changes that made and undid it.

-- The number of changes that a Space has had. Whoever makes one takes the next number first and has
-- the row until it commits, so numbers commit in their order: whoever reads one has read all before.
CREATE TABLE revisions (
    space_id bigint PRIMARY KEY,
    revision bigint NOT NULL,
    -- Drawn anew when a backup is restored: numbers from then on are of another past.
    era integer NOT NULL,
    -- The number from which on everything is known, and when it was given out; of a Space that has
    -- been counted from its beginning, always.
    known_from bigint NOT NULL DEFAULT 0,
    known_at timestamptz NOT NULL DEFAULT '-infinity'
) WITH (fillfactor = 50);

-- The events and touchpoints that came with a change, by their ids: packed, see history/id_lists.py.
CREATE TABLE new_rows (
    space_id bigint NOT NULL,
    revision bigint NOT NULL,
    made_at timestamptz NOT NULL DEFAULT now(),
    event_ids bytea NOT NULL,
    touchpoint_ids bytea NOT NULL,
    PRIMARY KEY (space_id, revision)
);

-- Events as they were until a change, and why they are no longer: whose they were at first, and what
-- a report adds up.
CREATE TABLE former_events (
    space_id bigint NOT NULL,
    until_revision bigint NOT NULL,
    id bigint NOT NULL,
    made_at timestamptz NOT NULL DEFAULT now(),
    cause text NOT NULL CHECK (cause IN ('edits', 'deletions', 'replacements')),
    contact_id bigint NOT NULL,
    event_name text NOT NULL,
    event_time timestamptz NOT NULL,
    amount numeric(19, 4),
    currency text,
    -- The event that has taken its place.
    successor_id bigint,
    PRIMARY KEY (space_id, until_revision, id)
);

CREATE TABLE former_touchpoints (
    space_id bigint NOT NULL,
    until_revision bigint NOT NULL,
    id bigint NOT NULL,
    made_at timestamptz NOT NULL DEFAULT now(),
    cause text NOT NULL CHECK (cause IN ('withdrawn_touches', 'classification')),
    contact_id bigint NOT NULL,
    occurred_at timestamptz NOT NULL,
    source_id smallint NOT NULL,
    tag_set_id integer NOT NULL,
    PRIMARY KEY (space_id, until_revision, id)
);

-- What is no longer of use is looked for by its age.
CREATE INDEX new_rows_made_at ON new_rows USING brin (made_at);
CREATE INDEX former_events_made_at ON former_events USING brin (made_at);
CREATE INDEX former_touchpoints_made_at ON former_touchpoints USING brin (made_at);

-- The changes that made and undid a merge; those of before changes were counted have the number 0.
ALTER TABLE merges
    ADD COLUMN revision bigint NOT NULL DEFAULT 0,
    ADD COLUMN undone_revision bigint;
UPDATE merges SET undone_revision = 0 WHERE undone_at IS NOT NULL;
CREATE INDEX merges_revision ON merges (space_id, revision);
CREATE INDEX merges_undone_revision ON merges (space_id, undone_revision)
    WHERE undone_revision IS NOT NULL;

INSERT INTO revisions (space_id, revision, era, known_at)
SELECT s.id, 0, (random() * 2147483646)::integer, now() FROM spaces s;

-- A Space's own rates as they were until a change; what there was no rate of has none.
CREATE TABLE former_rates (
    space_id bigint NOT NULL,
    until_revision bigint NOT NULL,
    date date NOT NULL,
    base text NOT NULL,
    currency text NOT NULL,
    rate numeric,
    PRIMARY KEY (space_id, until_revision, date, base, currency)
);

-- The same of those for all Spaces, whose changes have numbers of their own.
CREATE TABLE reference_changes (
    revision bigint PRIMARY KEY,
    made_at timestamptz NOT NULL DEFAULT now()
);
CREATE TABLE former_reference_rates (
    until_revision bigint NOT NULL,
    date date NOT NULL,
    currency text NOT NULL,
    per_euro numeric,
    PRIMARY KEY (until_revision, date, currency)
);
