-- Backups: which installation a backup is of, whether a database is one that a restore has not
-- finished, and what has been backed up.

ALTER TABLE installation
    -- The same in every copy: a backup, and the journal of erasures beside it, name it.
    ADD COLUMN id uuid NOT NULL DEFAULT gen_random_uuid(),
    -- True from the first row that a restore brings back to its last erasure: nothing starts on it.
    ADD COLUMN restoring boolean NOT NULL DEFAULT false;

CREATE TABLE backups (
    -- The manifest's.
    id uuid PRIMARY KEY,
    -- The moment whose rows it holds.
    made_at timestamptz NOT NULL,
    finished_at timestamptz NOT NULL,
    bytes bigint NOT NULL,
    name text NOT NULL,
    -- On the machine that made it: where the worker keeps the journal of erasures up to date.
    folder text NOT NULL,
    verified_at timestamptz
);
CREATE INDEX backups_latest ON backups (made_at);

-- The journal of erasures looks for what is new every few seconds.
CREATE INDEX erasures_requested ON erasures (requested_at);
CREATE INDEX erasures_erased ON erasures (erased_at) WHERE erased_at IS NOT NULL;
