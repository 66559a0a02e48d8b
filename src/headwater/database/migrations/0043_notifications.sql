-- Where a Space wants to be told of its alerts and reports.
CREATE TABLE channels (
    space_id bigint NOT NULL REFERENCES spaces ON DELETE CASCADE,
    id bigint GENERATED ALWAYS AS IDENTITY,
    kind text NOT NULL CHECK (kind IN ('email', 'webhook')),
    name text NOT NULL CHECK (length(name) BETWEEN 1 AND 80),
    -- An e-mail address; of a webhook nothing, as its address is a secret.
    address text,
    -- The webhook's address, encrypted, and what people know it by.
    secret bytea,
    hint text NOT NULL,
    -- The rules whose alerts go there.
    rules text[] NOT NULL,
    made_by bigint REFERENCES users ON DELETE SET NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    -- An address of nobody in the Space has to agree first.
    confirmed_at timestamptz,
    removed_at timestamptz,
    -- How the last message, or test, went.
    sent_at timestamptz,
    went_well boolean,
    error text,
    PRIMARY KEY (space_id, id)
);
CREATE INDEX channels_made_by ON channels (made_by);

-- Messages on their way: the row is the job.
CREATE TABLE messages (
    space_id bigint NOT NULL,
    id bigint GENERATED ALWAYS AS IDENTITY,
    channel_id bigint NOT NULL,
    -- The same for every attempt.
    message_id text NOT NULL,
    content jsonb NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    due_at timestamptz NOT NULL,
    attempts int NOT NULL DEFAULT 0,
    lease uuid,
    leased_until timestamptz,
    status text NOT NULL DEFAULT 'waiting' CHECK (status IN ('waiting', 'sent', 'failed')),
    error text,
    finished_at timestamptz,
    PRIMARY KEY (space_id, id),
    FOREIGN KEY (space_id, channel_id) REFERENCES channels ON DELETE CASCADE
);
CREATE INDEX messages_due ON messages (due_at) WHERE status = 'waiting';
CREATE INDEX messages_channel ON messages (space_id, channel_id, id);

-- Saved views that are sent by the clock of the Space.
CREATE TABLE scheduled_reports (
    space_id bigint NOT NULL REFERENCES spaces ON DELETE CASCADE,
    id bigint GENERATED ALWAYS AS IDENTITY,
    name text NOT NULL CHECK (length(name) BETWEEN 1 AND 80),
    page text NOT NULL,
    -- The part of the page's address after the `?`.
    query text NOT NULL CHECK (length(query) <= 2000),
    cadence text NOT NULL CHECK (cadence IN ('daily', 'weekly', 'monthly')),
    -- 0 is Monday; of a monthly one the day of the month.
    day int NOT NULL CHECK (day BETWEEN 0 AND 31),
    hour int NOT NULL CHECK (hour BETWEEN 0 AND 23),
    with_csv boolean NOT NULL,
    channel_ids bigint[] NOT NULL,
    made_by bigint REFERENCES users ON DELETE SET NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    next_at timestamptz NOT NULL,
    lease uuid,
    leased_until timestamptz,
    attempts int NOT NULL DEFAULT 0,
    last_at timestamptz,
    error text,
    PRIMARY KEY (space_id, id)
);
CREATE INDEX scheduled_reports_due ON scheduled_reports (next_at);
CREATE INDEX scheduled_reports_made_by ON scheduled_reports (made_by);
