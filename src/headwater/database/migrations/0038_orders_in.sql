-- Webhooks whose deliveries are kept, and for the time being make no events.
ALTER TABLE webhooks
    ADD COLUMN paused_at timestamptz;
ALTER TABLE webhook_deliveries
    DROP CONSTRAINT webhook_deliveries_status_check,
    ADD CHECK (status IN ('accepted', 'ignored', 'refused', 'paused'));

-- Files uploaded in the console, each from its upload to its end: the row is the job. How far a file
-- is stands in imports, as for one that is brought in at a terminal.
CREATE TABLE import_jobs (
    space_id bigint NOT NULL,
    id bigint GENERATED ALWAYS AS IDENTITY,
    kind text NOT NULL CHECK (kind IN ('events', 'touchpoints', 'contacts', 'ads')),
    -- The file as its owner calls it.
    name text NOT NULL,
    user_id bigint NOT NULL,
    -- The name of the file in the object store, from before it is made until it is removed.
    file text,
    bytes bigint NOT NULL DEFAULT 0,
    digest bytea CHECK (length(digest) = 32),
    -- How its bytes are read as a table.
    encoding text NOT NULL DEFAULT 'utf-8-sig',
    delimiter text NOT NULL DEFAULT ',',
    -- How the table's columns, in their order, and cells are read, as it was chosen on the page.
    reading json,
    again boolean NOT NULL DEFAULT false,
    status text NOT NULL DEFAULT 'uploading'
        CHECK (status IN ('uploading', 'uploaded', 'checking', 'checked', 'queued', 'running',
                          'finished', 'failed', 'cancelled')),
    created_at timestamptz NOT NULL DEFAULT now(),
    attempts int NOT NULL DEFAULT 0,
    lease uuid,
    leased_until timestamptz,
    retry_at timestamptz NOT NULL DEFAULT now(),
    -- Progress of the check or of the import, in bytes of the file and in rows.
    bytes_done bigint NOT NULL DEFAULT 0,
    rows_done bigint NOT NULL DEFAULT 0,
    taken bigint NOT NULL DEFAULT 0,
    refused bigint NOT NULL DEFAULT 0,
    -- Why it failed, or why its latest attempt did, in words for the person who uploaded it.
    error text,
    -- Hashes of what those are recognised by who were erased while the import was under way.
    erased bytea[] NOT NULL DEFAULT '{}',
    ended_at timestamptz,
    PRIMARY KEY (space_id, id)
);
CREATE INDEX import_jobs_open ON import_jobs (space_id, id)
    WHERE status IN ('checking', 'queued', 'running');
CREATE INDEX import_jobs_kept ON import_jobs (space_id, id) WHERE file IS NOT NULL;

-- Rows of such files that were refused, to be downloaded: the first of each file.
CREATE TABLE refused_rows (
    space_id bigint NOT NULL,
    import_id bigint NOT NULL,
    row bigint NOT NULL,
    line bigint NOT NULL,
    reason text NOT NULL,
    cells text NOT NULL,
    PRIMARY KEY (space_id, import_id, row)
);
ALTER TABLE refused_rows
    ALTER COLUMN reason SET STATISTICS 0,
    ALTER COLUMN cells SET STATISTICS 0;
