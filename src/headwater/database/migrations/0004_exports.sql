-- Exports: the row is the job, and what the API tells of it.
CREATE TABLE exports (
    space_id bigint NOT NULL,
    id bigint GENERATED ALWAYS AS IDENTITY,
    kind text NOT NULL CHECK (kind IN ('events', 'contacts', 'companies')),
    -- What was asked for, as the body said it; read again when the job runs.
    request jsonb NOT NULL,
    -- The instants it covers, fixed when it was asked for: a Space's zone may change later.
    range_start timestamptz NOT NULL,
    range_end timestamptz NOT NULL,
    status text NOT NULL DEFAULT 'queued'
        CHECK (status IN ('queued', 'processing', 'completed', 'failed')),
    created_at timestamptz NOT NULL DEFAULT now(),
    attempts int NOT NULL DEFAULT 0,
    -- Whoever holds the token works on it, until the lease ends; the lease is renewed with progress.
    lease uuid,
    leased_until timestamptz,
    retry_at timestamptz NOT NULL DEFAULT now(),
    -- Progress: rows written, and how many there are to come from.
    rows_done bigint NOT NULL DEFAULT 0,
    rows_total bigint,
    -- Why it failed, or why its latest attempt did, in words for the person who asked.
    error text,
    -- The name of the file in the object store, from before it is made until it is removed.
    file text,
    completed_at timestamptz,
    PRIMARY KEY (space_id, id),
    CHECK (status <> 'completed' OR completed_at IS NOT NULL)
);
CREATE INDEX exports_open ON exports (space_id, id) WHERE status IN ('queued', 'processing');
CREATE INDEX exports_kept ON exports (space_id, completed_at) WHERE file IS NOT NULL;
