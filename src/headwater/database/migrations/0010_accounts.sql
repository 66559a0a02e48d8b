-- People with accounts, what they may do in which Space, and the assistants they connect.

-- Not of one Space: somebody may be a member of several.
CREATE TABLE users (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    -- Trimmed and lower-case.
    email text NOT NULL UNIQUE,
    name text NOT NULL DEFAULT '',
    -- Argon2id; NULL until somebody who was invited has chosen a password.
    password_hash text,
    created_at timestamptz NOT NULL DEFAULT now(),
    disabled_at timestamptz
);

CREATE TABLE memberships (
    space_id bigint NOT NULL REFERENCES spaces,
    user_id bigint NOT NULL REFERENCES users,
    role text NOT NULL CHECK (role IN ('owner', 'admin', 'viewer')),
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (space_id, user_id)
);
CREATE INDEX memberships_user ON memberships (user_id);

-- Offers of a membership. It becomes that of whoever opens the link, with the account of theirs:
-- nobody proves here that an address is theirs, so an address by itself must not open a Space.
CREATE TABLE invitations (
    space_id bigint NOT NULL REFERENCES spaces,
    id bigint GENERATED ALWAYS AS IDENTITY,
    -- Whom it is meant for.
    email text NOT NULL,
    role text NOT NULL CHECK (role IN ('owner', 'admin', 'viewer')),
    token_hash bytea NOT NULL UNIQUE CHECK (length(token_hash) = 32),
    -- NULL: the operator, at a terminal.
    invited_by bigint REFERENCES users,
    created_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL,
    accepted_at timestamptz,
    revoked_at timestamptz,
    PRIMARY KEY (space_id, id)
);

-- A browser that is logged in.
CREATE TABLE sessions (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    -- SHA-256 of the cookie's 256 random bits.
    token_hash bytea NOT NULL UNIQUE CHECK (length(token_hash) = 32),
    user_id bigint NOT NULL REFERENCES users ON DELETE CASCADE,
    -- Browser and system, such as "Firefox on Linux", for people telling their sessions apart.
    device text NOT NULL DEFAULT '',
    created_at timestamptz NOT NULL DEFAULT now(),
    last_seen_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL
);
CREATE INDEX sessions_user ON sessions (user_id);

-- Links that work once: the first user of an installation, a forgotten password.
CREATE TABLE one_time_links (
    token_hash bytea PRIMARY KEY CHECK (length(token_hash) = 32),
    -- NULL: whoever opens it makes the first account.
    user_id bigint REFERENCES users ON DELETE CASCADE,
    created_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL,
    used_at timestamptz
);

-- Failed logins by account and by address, and registrations by address. Losing them in a crash
-- costs one window's count.
CREATE UNLOGGED TABLE attempts (
    -- What is counted, and of whom: a hash, so that no address or e-mail is kept here.
    subject bytea PRIMARY KEY,
    -- When each attempt was made that still counts, the oldest first.
    taken_at timestamptz[] NOT NULL,
    -- When none of them counts any more.
    expires_at timestamptz NOT NULL
);
CREATE INDEX attempts_expired ON attempts (expires_at);

-- Assistants that registered themselves. Those that host a metadata document have no row.
CREATE TABLE oauth_clients (
    id text PRIMARY KEY,
    name text NOT NULL,
    redirect_uris text[] NOT NULL,
    -- What else it sent and was recorded: client_uri, grant_types, response_types, …
    metadata jsonb NOT NULL DEFAULT '{}',
    created_at timestamptz NOT NULL DEFAULT now(),
    last_used_at timestamptz
);

-- What an assistant, or a script of somebody's, shows to be let in: one user, one Space.
CREATE TABLE mcp_tokens (
    space_id bigint NOT NULL REFERENCES spaces,
    id bigint GENERATED ALWAYS AS IDENTITY,
    user_id bigint NOT NULL REFERENCES users,
    kind text NOT NULL CHECK (kind IN ('oauth', 'personal')),
    name text NOT NULL,
    -- Of an OAuth token, the client's id.
    client_id text,
    token_hash bytea NOT NULL UNIQUE CHECK (length(token_hash) = 32),
    -- The token's last four characters, for people telling their tokens apart.
    hint text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    last_used_at timestamptz,
    -- NULL: never.
    expires_at timestamptz,
    revoked_at timestamptz,
    PRIMARY KEY (space_id, id)
);
CREATE INDEX mcp_tokens_user ON mcp_tokens (user_id) WHERE revoked_at IS NULL;

-- Authorization codes. A used one is kept until it would have expired long ago, so that a second
-- use is noticed and takes the token of the first away.
CREATE TABLE oauth_codes (
    space_id bigint NOT NULL REFERENCES spaces,
    id bigint GENERATED ALWAYS AS IDENTITY,
    code_hash bytea NOT NULL UNIQUE CHECK (length(code_hash) = 32),
    user_id bigint NOT NULL REFERENCES users,
    client_id text NOT NULL,
    client_name text NOT NULL,
    redirect_uri text NOT NULL,
    code_challenge text NOT NULL,
    -- As asked for at the authorize endpoint; NULL when it was not.
    resource text,
    created_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL,
    used_at timestamptz,
    -- The token that its first use made.
    token_id bigint,
    PRIMARY KEY (space_id, id)
);
