-- What an export's files hold, and how many there are of them.
ALTER TABLE exports
    -- How their names end, which says what is in them.
    ADD COLUMN extension text NOT NULL DEFAULT '.ndjson.gz',
    -- Rows of a file; NULL for one file, however large.
    ADD COLUMN rows_per_file bigint,
    -- Files whose names are taken, from before the first is made.
    ADD COLUMN parts int NOT NULL DEFAULT 1,
    -- The rows of each file, once all are in place.
    ADD COLUMN part_rows bigint[];

-- Exports that are made again and again, into a folder of the store that each has for itself.
CREATE TABLE export_schedules (
    space_id bigint NOT NULL REFERENCES spaces ON DELETE CASCADE,
    id bigint GENERATED ALWAYS AS IDENTITY,
    -- A part of the names of its files.
    name text NOT NULL CHECK (name !~ '[/.]' AND length(name) BETWEEN 1 AND 40),
    kind text NOT NULL CHECK (kind IN ('events', 'contacts', 'companies')),
    cadence text NOT NULL CHECK (cadence IN ('hourly', 'daily')),
    -- As the body said it, without what is the schedule's own; read again for every run.
    request jsonb NOT NULL,
    extension text NOT NULL,
    rows_per_file bigint NOT NULL,
    -- The first day of events, and the first of which there is no whole file yet.
    first_day date NOT NULL,
    next_day date NOT NULL,
    -- Days before, which every run writes again.
    rewritten_days int NOT NULL CHECK (rewritten_days BETWEEN 0 AND 31),
    created_at timestamptz NOT NULL DEFAULT now(),
    next_at timestamptz NOT NULL,
    PRIMARY KEY (space_id, id),
    UNIQUE (space_id, name)
);
CREATE INDEX export_schedules_due ON export_schedules (next_at);

ALTER TABLE exports
    -- Of a schedule's run: whose it is, and the folder that its files are moved to.
    ADD COLUMN schedule_id bigint,
    ADD COLUMN folder text,
    ADD CHECK ((schedule_id IS NULL) = (folder IS NULL));
CREATE UNIQUE INDEX exports_scheduled ON exports (space_id, schedule_id, folder)
    WHERE schedule_id IS NOT NULL;
