-- Paths in packed columns, from which reports are computed: every event of a day with the touches
-- before it. All of it is derived from events and touchpoints, and can be thrown away and made anew.
--
--     events, touchpoints ──changes──▶ pending_paths ──worker──▶ path_segments
--             └────────────── a report reads both ──────────────────┘
--
-- An event is in a segment, or pending, or both; while it is pending, its segment is not believed.

CREATE TABLE pending_paths (
    space_id bigint NOT NULL,
    day date NOT NULL,
    -- A row of its own for every change: who rebuilds deletes the rows that it has seen, and no
    -- change that comes meanwhile is lost with them.
    id bigint GENERATED ALWAYS AS IDENTITY,
    event_id bigint NOT NULL,
    changed_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (space_id, day, id)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000);

-- The days that have segments, to notice one that is missing.
CREATE TABLE path_days (
    space_id bigint NOT NULL,
    -- Of the event's time, in UTC.
    day date NOT NULL,
    parts smallint NOT NULL,
    PRIMARY KEY (space_id, day)
);

CREATE TABLE path_segments (
    space_id bigint NOT NULL,
    day date NOT NULL,
    part smallint NOT NULL,
    event_count integer NOT NULL,
    touch_count integer NOT NULL,
    -- What the column `names` counts in.
    event_names text[] NOT NULL,
    -- A column holds unsigned integers, lowest octet first, each as wide as the largest needs; added
    -- to its base they are the values. Bases and checksums are in the order of the columns.
    bases bigint[] NOT NULL,
    checksums bigint[] NOT NULL,
    -- Of every event.
    event_ids bytea STORAGE EXTERNAL NOT NULL,
    contacts bytea STORAGE EXTERNAL NOT NULL,
    companies bytea STORAGE EXTERNAL NOT NULL,
    names bytea STORAGE EXTERNAL NOT NULL,
    seconds bytea STORAGE EXTERNAL NOT NULL,
    amounts bytea STORAGE EXTERNAL NOT NULL,
    starts bytea STORAGE EXTERNAL NOT NULL,
    lengths bytea STORAGE EXTERNAL NOT NULL,
    older_1 bytea STORAGE EXTERNAL NOT NULL,
    older_7 bytea STORAGE EXTERNAL NOT NULL,
    older_14 bytea STORAGE EXTERNAL NOT NULL,
    older_30 bytea STORAGE EXTERNAL NOT NULL,
    older_60 bytea STORAGE EXTERNAL NOT NULL,
    older_90 bytea STORAGE EXTERNAL NOT NULL,
    -- Of every touch.
    touch_seconds bytea STORAGE EXTERNAL NOT NULL,
    sources bytea STORAGE EXTERNAL NOT NULL,
    tag_sets bytea STORAGE EXTERNAL NOT NULL,
    PRIMARY KEY (space_id, day, part)
);

-- What is there already waits to be put into segments; until then reports read it as it is.
INSERT INTO pending_paths (space_id, day, event_id)
SELECT e.space_id, (e.event_time AT TIME ZONE 'UTC')::date, e.id FROM events e;
