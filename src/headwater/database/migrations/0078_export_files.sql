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
