-- The schema of Headwater. Until the first release this file is edited in place; from then on it
-- stays as it is, and every change is a file of its own beside it (see CONTRIBUTING.md).
--
-- The Space is the unit of tenancy, ordering, locking and sharding: every tenant table's primary
-- key begins with space_id, and so does every index and foreign reference between tenant tables.
-- Statements and triggers stay within a Space, so that the tables can be distributed by space_id.
--
-- Row-level security is added to every table after the migrations (database/row_security.py). The last
-- statement names the columns that can hold personal data.


-------------------------------------------------------------------------------- Moments

-- Timestamps in the API's form: UTC, milliseconds only when they are not zero. Rounding tests for a whole
-- second at a tenth of the cost of truncating. Not IMMUTABLE: PostgreSQL would not inline an immutable
-- function that calls stable ones, and every call would cost several times as much.
CREATE FUNCTION iso_utc(moment timestamptz) RETURNS text LANGUAGE sql STABLE PARALLEL SAFE
RETURN to_char(
    moment AT TIME ZONE 'UTC',
    CASE WHEN moment::timestamptz(0) = moment
         THEN 'YYYY-MM-DD"T"HH24:MI:SS"Z"' ELSE 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"' END);

-- A moment's local time, by the offsets of a zone from each of its changes on; the first one holds before, too.
-- PostgreSQL's own zones can be years older than ours, and it reads CET, EET, MET and WET as
-- offsets without summer time.
CREATE FUNCTION local_time(moment timestamptz, changes timestamptz[], offsets interval[])
RETURNS timestamp LANGUAGE sql STABLE PARALLEL SAFE
RETURN moment AT TIME ZONE 'UTC' + offsets[greatest(width_bucket(moment, changes), 1)];

-- Leases and pauses use the database's clock, which may be set back, or belong to another machine after a
-- failover. A lease is set at most `longest` ahead. If it ends much later than that, the clock has been set
-- back since, and waiting for the lease would take as long as the clock jumped. Twice as far is allowed, so
-- that clocks that differ by seconds do not end leases. Ending a lease too early is harmless: its owner finds
-- that its token is gone.
CREATE FUNCTION has_come(moment timestamptz, longest interval)
RETURNS boolean LANGUAGE sql STABLE PARALLEL SAFE
RETURN moment <= now() OR moment > now() + 2 * longest;


-------------------------------------------------------------------------------- The installation

-- One row: what this installation made up for itself.
CREATE TABLE installation (
    singleton boolean PRIMARY KEY DEFAULT true CHECK (singleton),
    -- `serve` moves the secret key out of its own database into a file of the data directory, so
    -- that a copy of the database does not open the secrets sealed in it. An external database
    -- keeps it, as long as the operator gives none: several machines then find it there.
    secret_key text DEFAULT replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', ''),
    -- The addresses of the running service, for the commands beside it: `serve` writes them at its
    -- start, so that no address that a command prints depends on the terminal it was typed in.
    -- First the origin that people and browsers use, then the path of the tracker's script, then
    -- ad platform → the origin of its interface.
    base_url text,
    tracker_script text,
    platform_urls jsonb,
    -- The same in every copy: a backup, and the journal of erasures beside it, name it.
    id uuid NOT NULL DEFAULT gen_random_uuid(),
    -- True from the first row that a restore brings back to its last erasure: nothing starts on it.
    restoring boolean NOT NULL DEFAULT false
);
INSERT INTO installation DEFAULT VALUES;

CREATE TABLE backups (
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


-------------------------------------------------------------------------------- Spaces

CREATE TABLE spaces (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL,
    timezone text NOT NULL DEFAULT 'UTC',
    currency text NOT NULL DEFAULT 'USD' CHECK (currency ~ '^[A-Z]{3}$'),
    company_identity_mode text NOT NULL DEFAULT 'auto'
        CHECK (company_identity_mode IN ('auto', 'external_id')),
    subscription text NOT NULL DEFAULT 'active' CHECK (subscription IN ('active', 'inactive')),
    phone_region text CHECK (phone_region ~ '^[A-Z]{2}$'),
    -- Values this Space never takes as an identifier, beyond the ones that ship with Headwater.
    ignored_identifiers text[] NOT NULL DEFAULT '{}',
    created_at timestamptz NOT NULL DEFAULT now(),
    -- Hosts that never make a touch, besides the sites' own, and hosts that do although they ship
    -- as excluded.
    own_domains text[] NOT NULL DEFAULT '{}',
    excluded_referrers text[] NOT NULL DEFAULT '{}',
    heeded_referrers text[] NOT NULL DEFAULT '{}',
    -- The consent of events that do not name their own.
    ad_consent text NOT NULL DEFAULT 'unknown'
        CHECK (ad_consent IN ('granted', 'denied', 'unknown')),
    -- The cost of goods in per cent of revenue: the contribution is revenue minus goods and spend. NULL if it
    -- is not set.
    cost_rate numeric(5, 2) CHECK (cost_rate BETWEEN 0 AND 100),
    half_life_days smallint NOT NULL DEFAULT 7 CHECK (half_life_days BETWEEN 1 AND 365),
    -- Page views older than this many days are deleted; NULL keeps them.
    page_view_days integer
        CONSTRAINT spaces_page_view_days CHECK (page_view_days BETWEEN 30 AND 3650),
    -- Likewise contacts without conversions after this many days without activity, what was sent to ad platforms,
    -- and logs (privacy/retention.py).
    inactive_contact_days integer
        CONSTRAINT spaces_inactive_contact_days CHECK (inactive_contact_days BETWEEN 100 AND 3650),
    delivery_days integer
        CONSTRAINT spaces_delivery_days CHECK (delivery_days BETWEEN 30 AND 3650),
    log_days integer
        CONSTRAINT spaces_log_days CHECK (log_days BETWEEN 30 AND 3650),
    -- Whether members must have a second factor to see the Space in the console.
    require_second_factor boolean NOT NULL DEFAULT false
);

-- The row that a Space is locked by. A cluster has `spaces` on every node, where a lock of one row
-- holds up all others; this table is distributed with what the locks protect.
CREATE TABLE space_locks (
    space_id bigint PRIMARY KEY
);

CREATE TABLE event_labels (
    space_id bigint NOT NULL REFERENCES spaces,
    event_name text NOT NULL,
    label text NOT NULL,
    PRIMARY KEY (space_id, event_name)
);

CREATE TABLE field_labels (
    space_id bigint NOT NULL REFERENCES spaces,
    field text NOT NULL,
    label text NOT NULL,
    PRIMARY KEY (space_id, field)
);

-- An operator's own limit for one Space and bucket, per minute, before the global factor.
CREATE TABLE space_limits (
    space_id bigint NOT NULL REFERENCES spaces,
    bucket text NOT NULL,
    per_minute bigint NOT NULL CHECK (per_minute >= 0),
    PRIMARY KEY (space_id, bucket)
);

-- The current minute of each bucket. Losing it in a crash costs at most one minute's count.
CREATE UNLOGGED TABLE rate_limits (
    space_id bigint NOT NULL,
    bucket text NOT NULL,
    window_start timestamptz NOT NULL,
    allowed bigint NOT NULL,
    -- What the latest taking got.
    granted bigint NOT NULL,
    used bigint NOT NULL,
    PRIMARY KEY (space_id, bucket)
) WITH (fillfactor = 50);

-- Background jobs that fail for a Space by a fault of ours, for as long as they do.
CREATE TABLE failed_jobs (
    space_id bigint NOT NULL REFERENCES spaces ON DELETE CASCADE,
    job text NOT NULL,
    -- The kind of the error, without its message: that may quote a person.
    error text NOT NULL,
    since timestamptz NOT NULL,
    failed_at timestamptz NOT NULL,
    PRIMARY KEY (space_id, job)
);


-------------------------------------------------------------------------------- Accounts

-- Not tied to one Space: a user may be a member of several.
CREATE TABLE users (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    -- Trimmed and lower-case.
    email text NOT NULL UNIQUE,
    name text NOT NULL DEFAULT '',
    -- Argon2id; NULL until an invited user has chosen a password.
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

-- Invitations. The membership goes to the logged-in user who opens the link. Addresses are not verified, so
-- an address alone must not open a Space.
CREATE TABLE invitations (
    space_id bigint NOT NULL REFERENCES spaces,
    id bigint GENERATED ALWAYS AS IDENTITY,
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

-- OpenID Connect providers through which people log in.
CREATE TABLE sso_providers (
    -- Part of its addresses here.
    name text PRIMARY KEY,
    -- Never changes: subjects are unique within it.
    issuer text NOT NULL,
    client_id text NOT NULL,
    -- Encrypted, and bound to the name; NULL for a public client.
    client_secret bytea,
    -- Title, domains, roles and claims.
    settings jsonb NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now()
);

-- The account of a provider that a user logs in with.
CREATE TABLE sso_identities (
    provider text NOT NULL REFERENCES sso_providers ON DELETE CASCADE,
    subject text NOT NULL,
    user_id bigint NOT NULL REFERENCES users ON DELETE CASCADE,
    created_at timestamptz NOT NULL DEFAULT now(),
    last_used_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (provider, subject),
    UNIQUE (provider, user_id)
);
CREATE INDEX sso_identities_user ON sso_identities (user_id);

-- While it has rows, only these users may log in with a password.
CREATE TABLE sso_password_users (
    user_id bigint PRIMARY KEY REFERENCES users ON DELETE CASCADE
);

-- The app that makes a user's codes.
CREATE TABLE totp_factors (
    user_id bigint PRIMARY KEY REFERENCES users ON DELETE CASCADE,
    -- Encrypted, and bound to the user.
    secret bytea NOT NULL,
    -- The time step of the last accepted code: no code up to this step works again.
    last_step bigint NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now()
);

-- Passkeys, which replace the password, or follow it.
CREATE TABLE passkeys (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    user_id bigint NOT NULL REFERENCES users ON DELETE CASCADE,
    name text NOT NULL,
    -- Chosen by the authenticator.
    credential_id bytea NOT NULL UNIQUE,
    -- In COSE's form.
    public_key bytea NOT NULL,
    -- Grows with each use; 0 if the authenticator doesn't count. A smaller one comes from a copy.
    sign_count bigint NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    last_used_at timestamptz
);
CREATE INDEX passkeys_user ON passkeys (user_id);

-- Unused codes for a lost app or passkey.
CREATE TABLE recovery_codes (
    -- SHA-256 of the user and the code's 100 random bits.
    code_hash bytea PRIMARY KEY CHECK (length(code_hash) = 32),
    user_id bigint NOT NULL REFERENCES users ON DELETE CASCADE,
    created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX recovery_codes_user ON recovery_codes (user_id);

-- A browser that is logged in.
CREATE TABLE sessions (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    -- SHA-256 of the cookie's 256 random bits.
    token_hash bytea NOT NULL UNIQUE CHECK (length(token_hash) = 32),
    user_id bigint NOT NULL REFERENCES users ON DELETE CASCADE,
    -- Browser and system, such as "Firefox on Linux", so that users can recognise their sessions.
    device text NOT NULL DEFAULT '',
    created_at timestamptz NOT NULL DEFAULT now(),
    last_seen_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL,
    -- The provider that it began with; NULL after a login with a password.
    provider text REFERENCES sso_providers ON DELETE CASCADE,
    -- The provider's own name for its session, which it can end here.
    provider_session text,
    -- Encrypted; sent back to the provider at the logout.
    id_token bytea,
    -- When a second factor was last used in it.
    factor_at timestamptz,
    -- When the password was entered again in it.
    password_at timestamptz
);
CREATE INDEX sessions_user ON sessions (user_id);

-- Links that work once: the first user of an installation, a forgotten password.
CREATE TABLE one_time_links (
    token_hash bytea PRIMARY KEY CHECK (length(token_hash) = 32),
    -- NULL: opening the link creates the first account.
    user_id bigint REFERENCES users ON DELETE CASCADE,
    created_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL,
    used_at timestamptz
);

-- Failed logins by account and by address, and registrations by address. Losing them in a crash
-- costs one window's count.
CREATE UNLOGGED TABLE attempts (
    -- A hash of the kind of attempt and its account or address, so that no address is stored here.
    subject bytea PRIMARY KEY,
    -- When each attempt was made that still counts, the oldest first.
    taken_at timestamptz[] NOT NULL,
    expires_at timestamptz NOT NULL
);
CREATE INDEX attempts_expired ON attempts (expires_at);

CREATE TABLE api_keys (
    space_id bigint NOT NULL REFERENCES spaces,
    id bigint GENERATED ALWAYS AS IDENTITY,
    name text NOT NULL,
    -- SHA-256 of the key: 256 random bits need no slow hash.
    key_hash bytea NOT NULL UNIQUE CHECK (length(key_hash) = 32),
    -- The key's last four characters, so that users can recognise their keys.
    hint text NOT NULL,
    scopes text[] NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    revoked_at timestamptz,
    -- Who made it, so that it can be revoked with their membership. NULL: made at a terminal.
    made_by bigint REFERENCES users,
    -- As exact as a few seconds.
    last_used_at timestamptz,
    -- NULL: never.
    expires_at timestamptz,
    -- Requests from other networks are refused. Empty admits all.
    addresses cidr[] NOT NULL DEFAULT '{}',
    -- The key made by its rotation.
    replaced_by bigint,
    PRIMARY KEY (space_id, id)
);


-------------------------------------------------------------------------------- Assistants

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

-- The tokens of assistants and scripts, each for one user and one Space.
CREATE TABLE mcp_tokens (
    space_id bigint NOT NULL REFERENCES spaces,
    id bigint GENERATED ALWAYS AS IDENTITY,
    user_id bigint NOT NULL REFERENCES users,
    kind text NOT NULL CHECK (kind IN ('oauth', 'personal')),
    name text NOT NULL,
    client_id text,
    -- Whether it has only a viewer's permissions, also for an owner or admin.
    read_only boolean NOT NULL DEFAULT false,
    token_hash bytea NOT NULL UNIQUE CHECK (length(token_hash) = 32),
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
    -- The consent page that was confirmed; it creates one code.
    consent_hash bytea NOT NULL UNIQUE CHECK (length(consent_hash) = 32),
    user_id bigint NOT NULL REFERENCES users,
    client_id text NOT NULL,
    client_name text NOT NULL,
    redirect_uri text NOT NULL,
    code_challenge text NOT NULL,
    -- As asked for at the authorize endpoint; NULL when it was not.
    resource text,
    -- Whether its token has a viewer's permissions only.
    read_only boolean NOT NULL DEFAULT false,
    created_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL,
    used_at timestamptz,
    -- The token that its first use made.
    token_id bigint,
    PRIMARY KEY (space_id, id)
);


-------------------------------------------------------------------------------- Intake

-- The audit log: who changed settings, access and stored records. Rows are only added; the operator may set
-- after how many days they are deleted. Changes hold no secrets, and nothing of contacts but their ids and
-- the names of fields.
CREATE TABLE audit_entries (
    -- 0: the installation, for users and identity providers.
    space_id bigint NOT NULL,
    id bigint GENERATED ALWAYS AS IDENTITY,
    occurred_at timestamptz NOT NULL DEFAULT now(),
    way text NOT NULL CHECK (way IN ('console', 'api', 'assistant', 'command')),
    -- An operation's id, a page's path, a tool's name, or the words of a command.
    action text NOT NULL,
    -- Ids without references: entries outlive what they are about.
    user_id bigint,
    key_id bigint,
    token_id bigint,
    -- The system user who ran a command.
    operator text,
    -- The client's.
    address inet,
    -- What was changed: the first of the changes.
    kind text NOT NULL,
    subject_id text NOT NULL,
    changes jsonb NOT NULL,
    PRIMARY KEY (space_id, id)
);
CREATE INDEX audit_entries_occurred ON audit_entries (occurred_at);

-- Entries to send to the operator's collectors. A row is added with its entry, and deleted when it was sent.
CREATE TABLE unsent_audit_entries (
    space_id bigint NOT NULL,
    id bigint NOT NULL,
    -- Later after a failure.
    due_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (space_id, id)
);

-- One number line for everything that arrives. A receipt's id becomes the id of the event and of
-- the touchpoint the request makes, so a receipt leads to both without a table of its own, and
-- ids follow the order of arrival.
CREATE SEQUENCE receipt_ids;

-- In this table and its followers, `sender` is the origin of the row: an API key, a webhook, an import, an
-- assistant, a page, or a page with a signature of the site. Claims of a page about the business are not
-- believed (people/identity/senders.py).
CREATE TABLE inbox (
    space_id bigint NOT NULL,
    id bigint NOT NULL DEFAULT nextval('receipt_ids'),
    kind text NOT NULL,
    received_at timestamptz NOT NULL,
    payload text NOT NULL,
    sender text NOT NULL,
    PRIMARY KEY (space_id, id)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000);

-- Rows the pipeline could not process, kept whole so that they can be replayed.
CREATE TABLE rejected (
    space_id bigint NOT NULL,
    id bigint NOT NULL,
    kind text NOT NULL,
    received_at timestamptz NOT NULL,
    payload text NOT NULL,
    reason text NOT NULL,
    detail text NOT NULL,
    rejected_at timestamptz NOT NULL DEFAULT now(),
    sender text NOT NULL,
    PRIMARY KEY (space_id, id)
);

-- Accepted requests that were dropped because they repeat something stored. A repeated touch or page
-- view has no event that it repeats.
CREATE TABLE duplicates (
    space_id bigint NOT NULL,
    id bigint NOT NULL,
    reason text NOT NULL CHECK (reason IN
        ('idempotency_key', 'order_id', 'repeated_touch', 'repeated_hit', 'refund')),
    event_id bigint,
    received_at timestamptz NOT NULL,
    sender text,
    PRIMARY KEY (space_id, id),
    CHECK ((event_id IS NULL) = (reason IN ('repeated_touch', 'repeated_hit')) OR reason = 'refund')
);


-------------------------------------------------------------------------------- People

CREATE SEQUENCE company_ids;

CREATE TABLE companies (
    space_id bigint NOT NULL,
    id bigint NOT NULL DEFAULT nextval('company_ids'),
    domain text,
    external_id text,
    name text NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (space_id, id)
);
CREATE UNIQUE INDEX companies_domain ON companies (space_id, domain);
CREATE UNIQUE INDEX companies_external_id ON companies (space_id, external_id);
CREATE INDEX companies_created ON companies (space_id, created_at, id);

-- Ids grow with age under the Space's lock, so the lowest id is the oldest contact.
CREATE SEQUENCE contact_ids;

CREATE TABLE contacts (
    space_id bigint NOT NULL,
    id bigint NOT NULL DEFAULT nextval('contact_ids'),
    created_at timestamptz NOT NULL,
    -- The surviving contact, which is never itself merged: one hop resolves any id.
    merged_into bigint CHECK (merged_into < id),
    company_id bigint,
    -- One bit per source (bit n = source id n) of any touchpoint this contact has: never less
    -- than the truth, so it can rule an event out but not in. See attribution/.
    source_mask bigint NOT NULL DEFAULT 0,
    -- The primary value of each kind; contact_identifiers holds all of them.
    email text,
    name text,
    phone text,
    location text,
    city text,
    state text,
    country text,
    device_type text,
    os text,
    browser text,
    language text,
    profile_field_1 text, profile_field_2 text, profile_field_3 text, profile_field_4 text,
    profile_field_5 text, profile_field_6 text, profile_field_7 text, profile_field_8 text,
    profile_field_9 text, profile_field_10 text, profile_field_11 text, profile_field_12 text,
    profile_field_13 text, profile_field_14 text, profile_field_15 text,
    profile_field_16 numeric, profile_field_17 numeric, profile_field_18 numeric,
    profile_field_19 numeric, profile_field_20 numeric, profile_field_21 numeric,
    profile_field_22 numeric, profile_field_23 numeric, profile_field_24 numeric,
    profile_field_25 numeric,
    -- A date given without a time is its midnight in the Space's zone.
    profile_field_26 timestamptz, profile_field_27 timestamptz, profile_field_28 timestamptz,
    profile_field_29 timestamptz, profile_field_30 timestamptz,
    PRIMARY KEY (space_id, id)
) WITH (fillfactor = 85);
CREATE INDEX contacts_merged_into ON contacts (space_id, merged_into) WHERE merged_into IS NOT NULL;
-- In order of their ids, so that a page of a company's contacts is read only as far as it goes.
CREATE INDEX contacts_company_id ON contacts (space_id, company_id, id)
    WHERE company_id IS NOT NULL;
CREATE INDEX contacts_created ON contacts (space_id, created_at, id);

-- Every known value of a contact: what identifies it (email, tracking_id, trk_token, fingerprint)
-- and what describes it (phone, name, location). E-mail addresses that an update of a contact
-- replaced or wiped stay as `former_email`, which only a request to erase a person looks up.
--
-- An identifier seen on both of two merged contacts is two rows, one for each origin. `contact_id`
-- is where it counts now; a merged contact gets no new rows.
CREATE TABLE contact_identifiers (
    space_id bigint NOT NULL,
    kind text NOT NULL CHECK (kind IN
        ('email', 'former_email', 'tracking_id', 'trk_token', 'fingerprint', 'phone', 'name',
         'location')),
    value text NOT NULL,
    contact_id bigint NOT NULL,
    first_seen_at timestamptz NOT NULL,
    last_seen_at timestamptz NOT NULL,
    -- The receipt that last brought the value: arrival order, without ties. A token or an
    -- identifier listed for several contacts belongs to the row of the highest.
    recency bigint NOT NULL,
    origin_id bigint NOT NULL,
    -- When the origin first got the value, relative to the Space's merges: a number from receipt_ids drawn
    -- under the Space's lock, like the ids of merges. The receipt's own number would not do, because replayed
    -- receipts are processed out of order.
    since bigint NOT NULL,
    -- How a name divides into first and last name, where the sender named both and the boundary is
    -- not the first blank. Of the kind `name` only.
    first_name text,
    last_name text,
    -- The same number is written in many ways, and all end in the same digits. A column of its own,
    -- because row-level security keeps a search by an expression out of an index.
    phone_digits text GENERATED ALWAYS AS (
        CASE WHEN kind = 'phone' THEN right(regexp_replace(value, '[^0-9]', '', 'g'), 7) END
    ) STORED,
    PRIMARY KEY (space_id, kind, value, origin_id)
) WITH (fillfactor = 85);
CREATE INDEX contact_identifiers_contact ON contact_identifiers (space_id, contact_id, kind);
CREATE INDEX contact_identifiers_phone ON contact_identifiers (space_id, phone_digits)
    WHERE kind = 'phone';

CREATE TABLE merges (
    space_id bigint NOT NULL,
    id bigint NOT NULL DEFAULT nextval('receipt_ids'),
    merged_id bigint NOT NULL,
    survivor_id bigint NOT NULL,
    -- The kind of identifier that joined the two, and the receipt that carried it.
    cause text NOT NULL,
    receipt_id bigint,
    merged_at timestamptz NOT NULL DEFAULT now(),
    -- The company that the merged contact had.
    company_id bigint,
    -- The survivor's columns that were empty and took the merged contact's value.
    filled text[] NOT NULL DEFAULT '{}',
    undone_at timestamptz,
    sender text,
    -- The changes that made and undid the merge (see *History*).
    revision bigint NOT NULL DEFAULT 0,
    undone_revision bigint,
    PRIMARY KEY (space_id, id)
);
CREATE INDEX merges_survivor ON merges (space_id, survivor_id);
CREATE INDEX merges_merged ON merges (space_id, merged_id);
-- Merges of the last hour are counted: a burst of them is an alert.
CREATE INDEX merges_lately ON merges (space_id, merged_at);
CREATE INDEX merges_revision ON merges (space_id, revision);
CREATE INDEX merges_undone_revision ON merges (space_id, undone_revision)
    WHERE undone_revision IS NOT NULL;

-- A person who knows customers' addresses could assign a browser's past to all of them. So a browser, and an
-- address, joins only a few existing contacts within an hour. These are the contacts that browsers joined in
-- the last hour; older rows are deleted with the next ones.
CREATE TABLE unsigned_joins (
    space_id bigint NOT NULL,
    -- A hash of the visitor's token, or of the address.
    browser text NOT NULL,
    contact_id bigint NOT NULL,
    joined_at timestamptz NOT NULL,
    PRIMARY KEY (space_id, browser, contact_id)
);
CREATE INDEX unsigned_joins_time ON unsigned_joins (space_id, joined_at);
CREATE INDEX unsigned_joins_contact ON unsigned_joins (space_id, contact_id);

-- Joins that were refused because of the limit, counted by the hour for a week.
CREATE TABLE refused_joins (
    space_id bigint NOT NULL,
    hour timestamptz NOT NULL,
    joins bigint NOT NULL,
    PRIMARY KEY (space_id, hour)
);

-- Requests to erase a person, with their outcome. The row is the job.
CREATE TABLE erasures (
    space_id bigint NOT NULL,
    id bigint GENERATED ALWAYS AS IDENTITY,
    -- The canonical contact at the time of the request; merges are followed again at its work.
    contact_id bigint NOT NULL,
    requested_at timestamptz NOT NULL DEFAULT now(),
    -- The latest receipt at that time: what was accepted up to it is processed first.
    receipt_mark bigint NOT NULL,
    attempts int NOT NULL DEFAULT 0,
    retry_at timestamptz NOT NULL DEFAULT now(),
    -- Why the latest attempt failed, in words that hold no data.
    last_error text,
    erased_at timestamptz,
    PRIMARY KEY (space_id, id)
);
CREATE INDEX erasures_waiting ON erasures (space_id, id) WHERE erased_at IS NULL;
-- Checked before anything is sent: whether the event's person is to be erased.
CREATE INDEX erasures_contact ON erasures (space_id, contact_id);
-- The journal of erasures looks for new ones every few seconds.
CREATE INDEX erasures_requested ON erasures (requested_at);
CREATE INDEX erasures_erased ON erasures (erased_at) WHERE erased_at IS NOT NULL;


-------------------------------------------------------------------------------- Events

-- What reports count as an order: a purchase that is neither a refund nor an upsell, with any amount.
CREATE FUNCTION is_order(event_name text, is_upsell boolean, amount numeric)
RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN event_name = 'purchase' AND NOT is_upsell AND coalesce(amount, 0) >= 0;

-- In events, touchpoints, visits and hits a row keeps in `origin_id` the contact it was first stored
-- on: a merge moves it to the survivor, and undoing the merge finds it again. NULL: never moved.
CREATE TABLE events (
    space_id bigint NOT NULL,
    id bigint NOT NULL,
    contact_id bigint NOT NULL,
    company_id bigint,
    event_name text NOT NULL,
    event_time timestamptz NOT NULL,
    amount numeric(19, 4) CHECK (amount <> 'NaN'),
    is_upsell boolean NOT NULL DEFAULT false,
    order_id text,
    order_name text,
    checkout_token text,
    upsell_common_id text,
    idempotency_key text,
    company_external_id text,
    event_url text,
    user_agent text,
    ip text,
    do_not_capi boolean NOT NULL DEFAULT false,
    -- A superset of the sources on the contact's path at the time of the event.
    source_mask bigint NOT NULL DEFAULT 0,
    -- What the pipeline noticed, for example an identifier ignored as junk. Warnings quote the names of
    -- unknown fields, which may contain anything.
    warnings text[],
    received_at timestamptz NOT NULL,
    origin_id bigint,
    currency text CHECK (currency ~ '^[A-Z]{3}$'),
    -- Consent; NULL where the event does not name it.
    ad_user_data boolean,
    ad_personalization boolean,
    cookies jsonb,
    sender text,
    -- The customer's answer to the question how they heard of the business, and the source that the
    -- answer counts as (sources/answers.py). The source stays when the person is erased.
    heard_about_us text,
    self_reported_source text,
    -- True once a sender other than the page has set the amount. Reports leave out amounts above a limit
    -- (spend/rates/counted_amounts.py), and amounts reported only by a page have a lower one.
    amount_confirmed boolean NOT NULL DEFAULT false,
    PRIMARY KEY (space_id, id)
);
-- The keys of events that retention has deleted, so that they stay duplicates.
CREATE TABLE forgotten_keys (
    space_id bigint NOT NULL,
    event_name text NOT NULL,
    kind text NOT NULL CHECK (kind IN ('idempotency_key', 'order_id')),
    -- SHA-256 of the key, which may name a person.
    digest bytea NOT NULL CHECK (octet_length(digest) = 32),
    by_browser boolean NOT NULL,
    event_id bigint NOT NULL,
    PRIMARY KEY (space_id, event_name, kind, digest, by_browser)
);

-- Covers finding a page's events, so that those a filter rules out cost no heap fetch.
CREATE INDEX events_time ON events (space_id, event_time, id)
    INCLUDE (contact_id, company_id, source_mask, amount, event_name);
CREATE INDEX events_contact ON events (space_id, contact_id, event_time);
-- The refunds of an order are looked up by its contact, who may have thousands of events.
CREATE INDEX events_refunds ON events (space_id, contact_id) WHERE amount < 0;
CREATE INDEX events_company_time ON events (space_id, company_id, event_time, id)
    WHERE company_id IS NOT NULL;
-- Keys and orders of pages are unique among themselves, so that none of them blocks an event of the business.
CREATE UNIQUE INDEX events_idempotency ON events (space_id, event_name, idempotency_key)
    WHERE idempotency_key IS NOT NULL AND sender IS DISTINCT FROM 'browser';
CREATE UNIQUE INDEX events_browser_idempotency ON events (space_id, event_name, idempotency_key)
    WHERE idempotency_key IS NOT NULL AND sender = 'browser';
CREATE UNIQUE INDEX events_order ON events (space_id, event_name, order_id)
    WHERE order_id IS NOT NULL AND NOT is_upsell AND event_name <> 'upsell_purchase'
      AND sender IS DISTINCT FROM 'browser';
CREATE UNIQUE INDEX events_browser_order ON events (space_id, event_name, order_id)
    WHERE order_id IS NOT NULL AND NOT is_upsell AND event_name <> 'upsell_purchase'
      AND sender = 'browser';
-- Users look for an order by its id or by its name; every event of the order has one of them. The operator
-- class also serves refunds, whose ids begin with the order's.
CREATE INDEX events_by_order_id ON events (space_id, order_id text_pattern_ops)
    WHERE order_id IS NOT NULL;
CREATE INDEX events_by_order_name ON events (space_id, order_name) WHERE order_name IS NOT NULL;
-- Every report looks for the amounts of its days that are beyond a bound.
CREATE INDEX events_beyond_bounds ON events (space_id, event_time)
    WHERE abs(amount) > 100000000000
          OR (abs(amount) > 10000000 AND NOT amount_confirmed
              AND sender IN ('browser', 'signed_browser'));
-- A contact's latest answer, and all answers one after another.
CREATE INDEX events_self_reported ON events (space_id, contact_id, event_time, id)
    INCLUDE (self_reported_source) WHERE self_reported_source IS NOT NULL;
CREATE INDEX events_answers ON events (space_id, id) WHERE heard_about_us IS NOT NULL;

-- Refunds, by order. Reports of an order are kept as they were sent, so that the refunds derived from them
-- are the same in any order of arrival.
CREATE TABLE order_refunds (
    space_id bigint NOT NULL,
    order_id text NOT NULL,
    -- The order that keeps the reports, if this is another id of the same order.
    main_id text,
    -- All known ids of the order.
    order_ids text[] NOT NULL,
    -- events/refunds/reports.py has the form of both.
    reports jsonb NOT NULL,
    counted jsonb NOT NULL,
    -- When money first came back while the order was unknown; NULL when nothing waits.
    waiting_since timestamptz,
    PRIMARY KEY (space_id, order_id)
);
CREATE INDEX order_refunds_waiting ON order_refunds (space_id, waiting_since)
    WHERE waiting_since IS NOT NULL;


-------------------------------------------------------------------------------- Touchpoints

-- The ad of a touchpoint, and the page it led to, are stored once for each Space, in tag sets that
-- touchpoints name by a small number.
CREATE TABLE tag_sets (
    space_id bigint NOT NULL,
    -- From 1 on in each Space, without gaps, so that numbers fit into few bytes. 0, which has no
    -- row, is the empty set.
    id integer NOT NULL CHECK (id > 0),
    -- Of the eleven values (events/touchpoints/tag_sets.py).
    digest bytea NOT NULL CHECK (octet_length(digest) = 16),
    account_id text,
    account_name text,
    campaign_id text,
    campaign_name text,
    adset_id text,
    adset_name text,
    ad_id text,
    ad_name text,
    keyword text,
    -- The touchpoint's address, without query and fragment.
    landing_page text,
    -- True if only page views have it: reports find the touches of visits by it.
    by_hit boolean NOT NULL DEFAULT false,
    PRIMARY KEY (space_id, id),
    UNIQUE (space_id, digest)
);

CREATE TABLE touchpoints (
    space_id bigint NOT NULL,
    id bigint NOT NULL,
    contact_id bigint NOT NULL,
    origin_id bigint,
    company_id bigint,
    occurred_at timestamptz NOT NULL,
    tag_set_id integer NOT NULL DEFAULT 0,
    -- sources/catalogue.py numbers the listed sources, paid_networks the Space's own networks.
    source_id smallint NOT NULL CHECK (source_id BETWEEN 1 AND 253),
    -- Whether it was sent by itself, not made by an event: then it is all that became of its
    -- receipt, while an event's receipt ends with the event.
    sent boolean NOT NULL DEFAULT false,
    by_hit boolean NOT NULL DEFAULT false,
    source_rule text NOT NULL,
    url text,
    referrer_host text,
    -- The ad platforms' cookies in the browser: fbp, fbc, ttp, scid, rdt_uuid, oppref, obref.
    cookies jsonb,
    -- What the pipeline noticed of one that was sent, e.g. an identifier ignored as junk.
    warnings text[],
    sender text,
    PRIMARY KEY (space_id, id)
);
-- The indexes for attribution: the path of a contact or a company, in order, with the columns that identify
-- its touches, without touching the heap.
CREATE INDEX touchpoints_contact ON touchpoints (space_id, contact_id, occurred_at, id)
    INCLUDE (source_id, tag_set_id);
CREATE INDEX touchpoints_company ON touchpoints (space_id, company_id, occurred_at, id)
    INCLUDE (source_id, tag_set_id) WHERE company_id IS NOT NULL;
CREATE INDEX touchpoints_source ON touchpoints (space_id, source_id, contact_id);

-- The names of an ad platform's ids. Touchpoints keep the id they came with; the name is looked up
-- when they are read, so that a changed name is right everywhere at once.
CREATE TABLE ad_names (
    space_id bigint NOT NULL,
    kind text NOT NULL CHECK (kind IN ('campaign', 'adset', 'ad', 'account')),
    id text NOT NULL,
    name text NOT NULL,
    platform text,
    -- The order of first naming, which lists use.
    number bigint GENERATED ALWAYS AS IDENTITY,
    updated_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (space_id, kind, id)
);
CREATE UNIQUE INDEX ad_names_number ON ad_names (space_id, number);


-------------------------------------------------------------------------------- Sources of a Space

-- A Space's names of sources: lower-case values of utm_source, and the listed source of each.
CREATE TABLE source_names (
    space_id bigint NOT NULL REFERENCES spaces,
    name text NOT NULL,
    source text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (space_id, name)
);

-- Names of sources whose change is being applied to what was processed before it: a row is the work
-- that is left, and is deleted with its last piece.
CREATE TABLE reclassifications (
    space_id bigint NOT NULL REFERENCES spaces,
    -- A value of utm_source in source_names, where it may have been removed since.
    name text NOT NULL,
    -- The work goes through touchpoints and page views by their ids: from the first there was, up to
    -- the last receipt that had been given out when the name was changed.
    first_id bigint NOT NULL,
    after_id bigint NOT NULL,
    until_id bigint NOT NULL,
    -- Touchpoints that have another source or rule since.
    changed bigint NOT NULL DEFAULT 0,
    requested_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (space_id, name)
);

-- Paid networks that a Space has besides the listed sources, each with a number of its own:
-- touchpoints are stored under it. A number is never given to another network, because stored rows
-- keep it; a removed network is kept for its number and name.
CREATE TABLE paid_networks (
    space_id bigint NOT NULL REFERENCES spaces,
    -- sources/networks.py says which numbers there are.
    number smallint NOT NULL CHECK (number BETWEEN 64 AND 253),
    name text NOT NULL,
    -- Values of utm_source and trk_source besides the name, in lower case.
    spellings text[] NOT NULL,
    platform text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    removed_at timestamptz,
    PRIMARY KEY (space_id, number),
    UNIQUE (space_id, name)
);

-- A Space's phrases of answers, and the source of each.
CREATE TABLE answer_phrases (
    space_id bigint NOT NULL REFERENCES spaces,
    -- Words without case and accents.
    phrase text NOT NULL,
    source text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (space_id, phrase)
);

-- Stored answers are read again because the phrases have changed. The row covers the events above one id, up
-- to another, and is deleted with the last batch.
CREATE TABLE answer_rereadings (
    space_id bigint PRIMARY KEY REFERENCES spaces,
    after_id bigint NOT NULL,
    until_id bigint NOT NULL
);


-------------------------------------------------------------------------------- Browsing

CREATE TABLE sites (
    space_id bigint NOT NULL REFERENCES spaces,
    id bigint GENERATED ALWAYS AS IDENTITY,
    name text NOT NULL,
    -- Public: every page contains it. It only allows writes from browsers, from pages of these origins.
    site_key text NOT NULL UNIQUE,
    origins text[] NOT NULL,
    -- Page views by bots, which are left out: only their number is stored, and when the last came.
    bot_hits bigint NOT NULL DEFAULT 0,
    created_at timestamptz NOT NULL DEFAULT now(),
    revoked_at timestamptz,
    -- Whether pages may name the amount of an event.
    accepts_amounts boolean NOT NULL DEFAULT true,
    -- The secret that the shop's server signs identifiers with, encrypted; and the one before,
    -- which is believed for as long as its signatures hold.
    signing_secret bytea,
    former_secret bytea,
    former_until timestamptz,
    last_bot_at timestamptz,
    -- Whether only signed identifies and servers join a browser's past to a known contact.
    signed_only boolean NOT NULL DEFAULT false,
    PRIMARY KEY (space_id, id)
);
-- A report with an unknown key says by its origin alone whose site it may be of.
CREATE INDEX sites_origins ON sites USING gin (origins);

-- Page views by bots, by the quarter of an hour of their arrival.
CREATE TABLE bot_views (
    space_id bigint NOT NULL,
    quarter timestamptz NOT NULL,
    views bigint NOT NULL,
    PRIMARY KEY (space_id, quarter)
);

-- Why reports of pages were refused: the latest per reason, so that strangers cannot add rows.
CREATE TABLE site_refusals (
    space_id bigint NOT NULL,
    site_id bigint NOT NULL,
    reason text NOT NULL CHECK (reason IN ('origin', 'key', 'clock', 'invalid')),
    -- The page's origin, the key that no site has, or the field at fault.
    detail text NOT NULL CHECK (length(detail) <= 300),
    noted_at timestamptz NOT NULL,
    PRIMARY KEY (space_id, site_id, reason)
);

-- Messages in other companies' protocols that became nothing, by the event's name or the wrong field. Anyone
-- with a site key can send any name, so a Space has a limited number.
CREATE TABLE ignored_names (
    space_id bigint NOT NULL,
    name text NOT NULL CHECK (length(name) <= 100),
    reason text NOT NULL,
    times bigint NOT NULL,
    last_day date NOT NULL,
    PRIMARY KEY (space_id, name, reason)
);

-- The latest test of a site, started in the console.
CREATE TABLE site_tests (
    space_id bigint NOT NULL,
    site_id bigint NOT NULL,
    -- The page that is opened, and the click id, made for this test, that it is opened with.
    url text NOT NULL,
    click_id text NOT NULL,
    started_at timestamptz NOT NULL DEFAULT now(),
    -- What has come in since then has a higher number.
    receipt_mark bigint NOT NULL,
    -- What the server read of the page; NULL until it has.
    probe jsonb,
    PRIMARY KEY (space_id, site_id)
);

-- A visit is a sequence of page views of one contact in one browser, identified by its device: a hash of its
-- token.
CREATE TABLE visits (
    space_id bigint NOT NULL,
    id bigint NOT NULL,
    contact_id bigint NOT NULL,
    origin_id bigint,
    company_id bigint,
    started_at timestamptz NOT NULL,
    last_hit_at timestamptz NOT NULL,
    device uuid NOT NULL,
    -- Copied from the page view that begins it.
    tag_set_id integer NOT NULL DEFAULT 0,
    source_id smallint CHECK (source_id BETWEEN 1 AND 253),
    PRIMARY KEY (space_id, id)
) WITH (fillfactor = 85);
-- Not by last_hit_at: page views change that, and a row none of whose indexed columns changes is
-- cheap to update.
CREATE INDEX visits_device ON visits (space_id, contact_id, device, started_at);
-- Reports by campaign or page count visits without touching the heap.
CREATE INDEX visits_started ON visits (space_id, started_at) INCLUDE (source_id, tag_set_id);

CREATE FUNCTION quarter_of(moment timestamptz) RETURNS timestamptz LANGUAGE sql IMMUTABLE
    PARALLEL SAFE
RETURN date_bin('15 minutes', moment, TIMESTAMPTZ '2000-01-01 00:00:00+00');

-- How many visits of each source began in each quarter of an hour, for all other reports: the days of every time
-- zone consist of such quarters. Triggers update them in the transaction that changes the visits.
CREATE TABLE visit_counts (
    space_id bigint NOT NULL,
    quarter timestamptz NOT NULL,
    -- 0 for visits without a source.
    source_id smallint NOT NULL,
    visits bigint NOT NULL,
    PRIMARY KEY (space_id, quarter, source_id)
);

-- Only called by the triggers below, with the transition tables that exist: `changed`, or `added` and `taken`.
-- A cluster (Citus) plans the INSERT on nodes without the trigger's rows, so they are counted first and the few
-- counts are added one by one, in an order that no two transactions reverse.
CREATE FUNCTION count_visits() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    counts visit_counts[];
    counted visit_counts;
    sign int := CASE TG_OP WHEN 'DELETE' THEN -1 ELSE 1 END;
BEGIN
    IF TG_OP <> 'UPDATE' THEN
        SELECT array_agg(g::visit_counts ORDER BY g.quarter, g.source_id) INTO counts FROM (
            SELECT c.space_id, quarter_of(c.started_at) AS quarter,
                   coalesce(c.source_id, 0)::smallint AS source_id, sign * count(*) AS visits
            FROM changed c
            GROUP BY 1, 2, 3
        ) g;
    ELSE
        SELECT array_agg(g::visit_counts ORDER BY g.quarter, g.source_id) INTO counts FROM (
            SELECT a.space_id, quarter_of(side.started_at) AS quarter,
                   coalesce(side.source_id, 0)::smallint AS source_id, sum(side.number)::bigint AS visits
            FROM added a
            JOIN taken t ON t.space_id = a.space_id AND t.id = a.id
                        AND (t.started_at, t.source_id) IS DISTINCT FROM (a.started_at, a.source_id)
            CROSS JOIN LATERAL (VALUES (a.started_at, a.source_id, 1), (t.started_at, t.source_id, -1))
                 AS side (started_at, source_id, number)
            GROUP BY 1, 2, 3
        ) g;
    END IF;
    FOREACH counted IN ARRAY coalesce(counts, '{}') LOOP
        INSERT INTO visit_counts AS c (space_id, quarter, source_id, visits)
        VALUES (counted.space_id, counted.quarter, counted.source_id, counted.visits)
        ON CONFLICT (space_id, quarter, source_id) DO UPDATE SET visits = c.visits + excluded.visits;
    END LOOP;
    RETURN NULL;
END
$$;

CREATE TRIGGER count_inserted AFTER INSERT ON visits
    REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION count_visits();
CREATE TRIGGER count_updated AFTER UPDATE ON visits
    REFERENCING OLD TABLE AS taken NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION count_visits();
CREATE TRIGGER count_deleted AFTER DELETE ON visits
    REFERENCING OLD TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION count_visits();

-- A hit is one page view.
CREATE TABLE hits (
    space_id bigint NOT NULL,
    id bigint NOT NULL,
    contact_id bigint NOT NULL,
    origin_id bigint,
    visit_id bigint NOT NULL,
    occurred_at timestamptz NOT NULL,
    -- Of a view with `touch`, whose ad and page they are.
    tag_set_id integer NOT NULL DEFAULT 0,
    event_name text NOT NULL,
    url text,
    referrer_host text,
    source_id smallint CHECK (source_id BETWEEN 1 AND 253),
    country text,
    device_type text,
    browser text,
    os text,
    -- Given by the browser, so that a page view sent twice counts once.
    key uuid NOT NULL,
    language text,
    -- The campaign parameters and click ids of the page's URL in one text, to compare page views; NULL
    -- without any.
    campaign text,
    -- The origin of a view that starts its visit or has a campaign. Only such a view makes a touchpoint, from
    -- this.
    touch jsonb,
    PRIMARY KEY (space_id, id)
);
CREATE INDEX hits_contact ON hits (space_id, contact_id, occurred_at, id);
CREATE UNIQUE INDEX hits_key ON hits (space_id, key);
CREATE INDEX hits_visit ON hits (space_id, visit_id, occurred_at, id) INCLUDE (tag_set_id)
    WHERE touch IS NOT NULL;
CREATE INDEX hits_touches ON hits (space_id, contact_id, occurred_at) WHERE touch IS NOT NULL;

-- The first browser with a click id, and the time. Later visitors may have the id from a shared link, so it says
-- nothing about them.
CREATE TABLE clicks (
    space_id bigint NOT NULL,
    -- A hash of the parameter's name and value.
    click uuid NOT NULL,
    device uuid NOT NULL,
    first_seen_at timestamptz NOT NULL,
    PRIMARY KEY (space_id, click)
);
CREATE INDEX clicks_device ON clicks (space_id, device);

-- The progress of deleting page views older than page_view_days, in a Space that has such a limit.
CREATE TABLE page_view_upkeep (
    space_id bigint PRIMARY KEY,
    -- Views before this day have been deleted; NULL if there never were any.
    forgotten_before timestamptz,
    -- When there was nothing left to do.
    looked_at timestamptz NOT NULL
);

-- The passes over what a Space keeps for a limited time, each from the lowest id to the highest.
CREATE TABLE retention_passes (
    space_id bigint NOT NULL,
    kind text NOT NULL CHECK (kind IN ('contacts', 'deliveries', 'logs')),
    -- The last row of the pass under way; 0 between passes.
    after_id bigint NOT NULL DEFAULT 0,
    -- The latest batch that deleted rows deleted those before this time.
    deleted_before timestamptz,
    -- When the latest pass ended.
    ended_at timestamptz,
    PRIMARY KEY (space_id, kind)
);


-------------------------------------------------------------------------------- Credit

-- How an amount is shared out over a path's touches, exactly. A credit is a whole number of units:
-- 0.01, or the amount's own last decimal when that is finer. Every touch gets its share rounded
-- down; the units left over go one each to the largest remainders, ties to the earlier touch.
-- Negative amounts mirror positive ones, and no amount gives no credit.
--
-- The closed forms below need only a touch's position (from 1) and the number of touches, so a
-- credit is computed for the rows shown and for no others. None is STRICT: that would keep the
-- planner from inlining them. An amount of at most 1e14 has at most 1e18 units, twice which fits
-- a bigint.

CREATE FUNCTION credit_unit(amount numeric) RETURNS numeric LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE scale(trim_scale(amount)) WHEN 4 THEN 0.0001 WHEN 3 THEN 0.001 ELSE 0.01 END;

CREATE FUNCTION credit_units(amount numeric) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN div(abs(amount), credit_unit(amount))::bigint;

-- Equal shares: the remainders are equal too, so the left-over units go to the first touches.
CREATE FUNCTION linear_units(units bigint, place bigint, touches bigint)
RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN units / touches + (place <= units % touches)::int;

-- Two fifths to each end, and one fifth shared by the m touches between: over the denominator 5m an end has
-- 2m parts and a middle touch 1, hence two remainders, `ends` and `middles`. The touches with the larger
-- remainder are served first.
CREATE FUNCTION u_shaped_left_over(units bigint, m bigint, ends bigint, middles bigint, place bigint)
RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (CASE
    WHEN ends = middles THEN place
    WHEN ends > middles THEN CASE place WHEN 1 THEN 1 WHEN m + 2 THEN 2 ELSE place + 1 END
    ELSE CASE place WHEN 1 THEN m + 1 WHEN m + 2 THEN m + 2 ELSE place - 1 END
END <= units - 2 * (2 * units / 5) - m * (units / (5 * m)))::int;

CREATE FUNCTION u_shaped_units(units bigint, place bigint, touches bigint)
RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN touches < 3 THEN linear_units(units, place, touches) ELSE
    CASE WHEN place IN (1, touches) THEN 2 * units / 5 ELSE units / (5 * (touches - 2)) END
    + u_shaped_left_over(
        units, touches - 2, 2 * units % 5 * (touches - 2), units % (5 * (touches - 2)), place)
END;

-- Time decay: a touch has half the credit of one that is a half-life younger. Weights are whole numbers,
-- and the same as in attribution/credits.py.
CREATE FUNCTION whole_seconds(moment timestamptz) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN floor(extract(epoch FROM moment))::bigint;

-- The function is written with a table of the weights in the first half-life, in 1024 equal steps:
-- 2^20 / 2^(step / 1024) to the nearest whole number. Later ones are halves of these, rounded down;
-- a half-life's seconds times 1024 fit a bigint for any time that a timestamp can have. Not STRICT,
-- as that would keep the planner from inlining it.
DO $$
BEGIN
    EXECUTE format(
        'CREATE FUNCTION decayed_weight(seconds bigint, half_life_days bigint) RETURNS bigint'
        ' LANGUAGE sql IMMUTABLE PARALLEL SAFE'
        ' RETURN (%L::bigint[])[1 + seconds * 1024 / (half_life_days * 86400) %% 1024]'
        ' >> least(seconds / (half_life_days * 86400), 63)::int',
        (SELECT array_agg(round(1048576 / power(2, step / 1024.0))::bigint ORDER BY step)
         FROM generate_series(0, 1023) step));
END
$$;

-- Data-driven models: the counts that each was fitted to, and the weights that followed. Snapshots,
-- which are never changed.
CREATE TABLE trained_models (
    space_id bigint NOT NULL REFERENCES spaces ON DELETE CASCADE,
    id bigint GENERATED ALWAYS AS IDENTITY,
    name text NOT NULL CHECK (name <> ''),
    event_name text NOT NULL,
    start_at timestamptz NOT NULL,
    end_at timestamptz NOT NULL CHECK (end_at > start_at),
    window_days smallint NOT NULL,
    conversions bigint NOT NULL,
    lost bigint NOT NULL,
    -- Conversions without a touch, which say nothing.
    untouched bigint NOT NULL,
    -- All that the weights follow from: how often each transition and each set of sources occurred.
    counts jsonb NOT NULL,
    -- The SHA-256 of all this, in hexadecimal.
    digest text NOT NULL,
    made_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (space_id, id),
    UNIQUE (space_id, name)
);

CREATE TABLE trained_weights (
    space_id bigint NOT NULL,
    trained_model_id bigint NOT NULL,
    model text NOT NULL,
    source text NOT NULL,
    weight numeric(10, 9) NOT NULL CHECK (weight BETWEEN 0 AND 1),
    low numeric(10, 9) NOT NULL,
    high numeric(10, 9) NOT NULL,
    PRIMARY KEY (space_id, trained_model_id, model, source),
    FOREIGN KEY (space_id, trained_model_id) REFERENCES trained_models (space_id, id) ON DELETE CASCADE
);

-- The trained model that a Space uses where none is named, for each event name that has trained models.
CREATE TABLE current_models (
    space_id bigint NOT NULL,
    event_name text NOT NULL,
    trained_model_id bigint NOT NULL,
    chosen_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (space_id, event_name),
    FOREIGN KEY (space_id, trained_model_id) REFERENCES trained_models (space_id, id) ON DELETE CASCADE
);

-- The event names whose models a Space trains at night. A new Space trains models of purchases.
CREATE TABLE automatic_training (
    space_id bigint NOT NULL REFERENCES spaces ON DELETE CASCADE,
    event_name text NOT NULL,
    is_on boolean NOT NULL DEFAULT true,
    -- The night of the next attempt.
    next_at timestamptz NOT NULL,
    -- The latest automatic model. No foreign key: the setting outlives the model.
    trained_model_id bigint,
    PRIMARY KEY (space_id, event_name)
);
CREATE INDEX automatic_training_due ON automatic_training (next_at) WHERE is_on;


-------------------------------------------------------------------------------- Paths

-- Reports are computed from these paths in packed columns: every event of a day with the touches before
-- it. All of it is derived from events and touchpoints, and can be deleted and rebuilt.
--
--     events, touchpoints ──changes──▶ pending_paths ──worker──▶ path_segments
--             └────────────── a report reads both ──────────────────┘
--
-- An event is in a segment, or pending, or both. While it is pending, its row in the segment is ignored.
CREATE TABLE pending_paths (
    space_id bigint NOT NULL,
    day date NOT NULL,
    -- A row of its own for every change: the worker deletes the rows that it has seen, and no change
    -- that comes meanwhile is lost with them.
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
    -- The names that the column `names` counts in.
    event_names text[] NOT NULL,
    -- A column holds unsigned integers, lowest octet first, each as wide as the largest needs; added
    -- to its base they are the values. Bases and checksums are in the order of the columns.
    bases bigint[] NOT NULL,
    checksums bigint[] NOT NULL,
    -- Of every event.
    event_ids bytea STORAGE EXTERNAL NOT NULL, contacts bytea STORAGE EXTERNAL NOT NULL,
    companies bytea STORAGE EXTERNAL NOT NULL, names bytea STORAGE EXTERNAL NOT NULL,
    seconds bytea STORAGE EXTERNAL NOT NULL, amounts bytea STORAGE EXTERNAL NOT NULL,
    starts bytea STORAGE EXTERNAL NOT NULL, lengths bytea STORAGE EXTERNAL NOT NULL,
    older_1 bytea STORAGE EXTERNAL NOT NULL, older_7 bytea STORAGE EXTERNAL NOT NULL,
    older_14 bytea STORAGE EXTERNAL NOT NULL, older_30 bytea STORAGE EXTERNAL NOT NULL,
    older_60 bytea STORAGE EXTERNAL NOT NULL, older_90 bytea STORAGE EXTERNAL NOT NULL,
    -- Of every touch.
    touch_seconds bytea STORAGE EXTERNAL NOT NULL, sources bytea STORAGE EXTERNAL NOT NULL,
    tag_sets bytea STORAGE EXTERNAL NOT NULL,
    -- Postings (attribution/paths/postings.py): of every source that is rare in the segment, the events whose
    -- path has it, so that a list of its credit does not read the paths of all others. First the
    -- sources without postings, bit n for number n: for these the paths are read. Then those with
    -- postings, ascending, the end of each source's octets, and the octets, source by source.
    common_sources bigint NOT NULL,
    posted_sources smallint[] NOT NULL,
    posting_ends integer[] NOT NULL,
    postings bytea STORAGE EXTERNAL NOT NULL,
    -- Every write has a stamp of its own: sums over a segment hold as long as its stamp stays.
    stamp bigint NOT NULL,
    -- Of every event: 0 is plain, 1 an upsell, 2 a refund (attribution/paths/path_data.py).
    kinds bytea STORAGE EXTERNAL NOT NULL,
    PRIMARY KEY (space_id, day, part)
);


-------------------------------------------------------------------------------- History

-- The history behind a Space's reports. Changes are numbered, and rows that a change deletes or alters are
-- kept in their old form, so that two snapshots of a report can be compared.
--
--     change ──┬──▶ events, touchpoints, merges       in their current form
--              ├──▶ revisions                         the number of the change, the Space's next
--              └──▶ new_rows, former_events,        what it added, and what was there before it
--                   former_touchpoints
--
-- A merge moves rows without altering them, and they keep their first contact. It is stored as the numbers
-- of the changes that made and undid it.

-- The number of changes in a Space. A change takes the next number first and holds the row until it commits,
-- so numbers commit in order: a reader of one number has read all earlier ones.
CREATE TABLE revisions (
    space_id bigint PRIMARY KEY,
    revision bigint NOT NULL,
    -- Drawn again when a backup is restored: later numbers then belong to another history.
    era integer NOT NULL,
    -- The history is complete from this number on, which was given out at known_at.
    known_from bigint NOT NULL DEFAULT 0,
    known_at timestamptz NOT NULL DEFAULT '-infinity'
) WITH (fillfactor = 50);

-- The events and touchpoints that came with a change, by their ids: packed, see attribution/history/revisions.py.
CREATE TABLE new_rows (
    space_id bigint NOT NULL,
    revision bigint NOT NULL,
    made_at timestamptz NOT NULL DEFAULT now(),
    event_ids bytea NOT NULL,
    touchpoint_ids bytea NOT NULL,
    -- When a connection asked its platform for the spend that the change stored; NULL for other changes.
    pulled_at timestamptz,
    PRIMARY KEY (space_id, revision)
);

-- Events as they were until a change, with the reason of the change: whose they were at first, and
-- what a report adds up.
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
    successor_id bigint,
    -- True while only a page had reported the amount.
    from_page boolean NOT NULL DEFAULT false,
    is_upsell boolean NOT NULL DEFAULT false,
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


-------------------------------------------------------------------------------- Spend and rates

-- Ad spend as the platforms report it: a row for each day, place in an ad account, country and currency. Of
-- several reports for one key the latest `as_of` counts, and of equal ones the last row, so that the ledger
-- does not depend on the order of arrival.
CREATE TABLE spend (
    space_id bigint NOT NULL,
    -- On the ad account's clock.
    date date NOT NULL,
    -- A hash of the eight columns that, with the date, make the row's key: ids may be long names,
    -- which an index cannot hold.
    key bytea NOT NULL CHECK (length(key) = 16),
    platform text NOT NULL,
    -- Empty where the row covers more than one: all campaigns of an account, all countries.
    account_id text NOT NULL,
    campaign_id text NOT NULL,
    adset_id text NOT NULL,
    ad_id text NOT NULL,
    country text NOT NULL,
    currency text NOT NULL CHECK (currency ~ '^[A-Z]{3}$'),
    amount numeric(20, 6) NOT NULL CHECK (amount >= 0),
    impressions bigint CHECK (impressions >= 0),
    clicks bigint CHECK (clicks >= 0),
    -- By the platform's own count, and in the row's currency.
    platform_conversions numeric(20, 6) CHECK (platform_conversions >= 0),
    platform_revenue numeric(20, 6) CHECK (platform_revenue >= 0),
    -- The ad account's time zone; NULL if it is not known.
    timezone text,
    -- When the platform reported this, and the row's place in that report.
    as_of timestamptz NOT NULL,
    place integer NOT NULL,
    -- Keys are numbered when they are first stored; lists use this order within a day.
    number bigint GENERATED ALWAYS AS IDENTITY,
    -- The number of the change that added the row or its current figures.
    revision bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (space_id, date, key)
);
CREATE UNIQUE INDEX spend_number ON spend (space_id, date, number);

-- The old rows of the spend ledger, so that a report of spend can explain its changes:
--
--     a key     first import      replaced by a later report      deleted
--               revision 4                 revision 7             revision 9
--     spend          ├─ 25.00, revision 4 ─┤├─ 30.00, revision 7 ──┤
--     former_spend                          25.00, 4 until 7        30.00, 7 until 9
--
-- A row has the figures that counted from one change until another, and the reason of the second. NULL is a
-- figure that a report left out.
CREATE TABLE former_spend (
    space_id bigint NOT NULL,
    until_revision bigint NOT NULL,
    date date NOT NULL,
    key bytea NOT NULL,
    since_revision bigint NOT NULL,
    made_at timestamptz NOT NULL DEFAULT now(),
    cause text NOT NULL CHECK (cause IN ('spend_replacements', 'spend_deletions')),
    platform text NOT NULL,
    account_id text NOT NULL,
    campaign_id text NOT NULL,
    adset_id text NOT NULL,
    ad_id text NOT NULL,
    country text NOT NULL,
    currency text NOT NULL,
    amount numeric(20, 6) NOT NULL,
    impressions bigint,
    clicks bigint,
    platform_conversions numeric(20, 6),
    platform_revenue numeric(20, 6),
    PRIMARY KEY (space_id, until_revision, date, key)
);
CREATE INDEX former_spend_made_at ON former_spend USING brin (made_at);

-- Accounts whose spend is pulled from their ad platforms.
CREATE TABLE spend_connections (
    space_id bigint NOT NULL REFERENCES spaces,
    id bigint GENERATED ALWAYS AS IDENTITY,
    platform text NOT NULL,
    name text NOT NULL,
    -- A held connection waits for a person; `fault` says for what.
    status text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'paused', 'held')),
    settings jsonb NOT NULL DEFAULT '{}',
    -- The platform's tokens as one JSON object, encrypted, and their names.
    secrets bytea,
    secret_names text[] NOT NULL DEFAULT '{}',
    -- The destination whose tokens were copied; NULL if they were entered for the connection.
    lender_id bigint,
    created_at timestamptz NOT NULL DEFAULT now(),
    -- The account as its platform describes it; NULL before the first pull.
    account_id text,
    account_name text,
    currency text,
    timezone text,
    -- Days from history_from to before history_until are still to be fetched, the latest first. NULL before
    -- the first pull, and when all are fetched.
    history_from date,
    history_until date,
    -- The next pull, and the next one of all days that the platform may still correct.
    next_pull_at timestamptz NOT NULL DEFAULT now(),
    next_wide_pull_at timestamptz NOT NULL DEFAULT now(),
    -- The last complete pull.
    pulled_at timestamptz,
    -- Pulls in a row that failed, since when, why (a kind of fault), and in the platform's words.
    failures int NOT NULL DEFAULT 0,
    failing_since timestamptz,
    fault text,
    fault_message text,
    -- The process that is pulling, and the end of its lease.
    lease uuid,
    leased_until timestamptz,
    PRIMARY KEY (space_id, id)
);

-- Worth of currencies, by day: the European Central Bank's reference rates, which the operator
-- brought in for all Spaces.
CREATE TABLE reference_rates (
    date date NOT NULL,
    currency text NOT NULL CHECK (currency ~ '^[A-Z]{3}$'),
    -- Units of the currency for one euro.
    per_euro numeric NOT NULL CHECK (per_euro > 0),
    PRIMARY KEY (date, currency)
);

-- Their changes have numbers of their own.
CREATE TABLE reference_changes (
    revision bigint PRIMARY KEY,
    made_at timestamptz NOT NULL DEFAULT now()
);

-- The rates until a change; NULL where there was no rate.
CREATE TABLE former_reference_rates (
    until_revision bigint NOT NULL,
    date date NOT NULL,
    currency text NOT NULL,
    per_euro numeric,
    PRIMARY KEY (until_revision, date, currency)
);

-- A Space's own rates, which come first.
CREATE TABLE rates (
    space_id bigint NOT NULL,
    date date NOT NULL,
    base text NOT NULL CHECK (base ~ '^[A-Z]{3}$'),
    currency text NOT NULL CHECK (currency ~ '^[A-Z]{3}$' AND currency <> base),
    -- Units of the currency for one of the base.
    rate numeric NOT NULL CHECK (rate > 0),
    number bigint GENERATED ALWAYS AS IDENTITY,
    PRIMARY KEY (space_id, date, base, currency)
);
CREATE UNIQUE INDEX rates_number ON rates (space_id, date, number);

CREATE TABLE former_rates (
    space_id bigint NOT NULL,
    until_revision bigint NOT NULL,
    date date NOT NULL,
    base text NOT NULL,
    currency text NOT NULL,
    rate numeric,
    PRIMARY KEY (space_id, until_revision, date, base, currency)
);

-- The UTC days of a Space with events that name a currency. A report looks for foreign currencies on these days
-- only. Deleting events leaves their days.
CREATE TABLE currency_days (
    space_id bigint NOT NULL,
    currency text NOT NULL,
    day date NOT NULL,
    PRIMARY KEY (space_id, currency, day)
);


-------------------------------------------------------------------------------- Webhooks

-- Webhooks that other services call: who they belong to and how their bodies are read.
CREATE TABLE webhooks (
    space_id bigint NOT NULL,
    id bigint GENERATED ALWAYS AS IDENTITY,
    -- The program knows which types there are: a new one is a module, no migration.
    type text NOT NULL,
    name text NOT NULL,
    -- SHA-256 of the token in the URL: 256 random bits need no slow hash.
    token_hash bytea NOT NULL UNIQUE CHECK (length(token_hash) = 32),
    hint text NOT NULL,
    -- What the sender signs with, encrypted under a key that is not in the database when
    -- HEADWATER_SECRET_KEY is set.
    secret bytea,
    -- Generic ones only: the header with the signature, and where a body says what happened.
    signature_header text,
    topic text,
    -- What differs from the ready-made mapping: topic to event name, field to expression.
    event_names jsonb NOT NULL DEFAULT '{}',
    mapping jsonb NOT NULL DEFAULT '{}',
    created_at timestamptz NOT NULL DEFAULT now(),
    revoked_at timestamptz,
    -- Deliveries of a paused webhook are kept, and for the time being make no events.
    paused_at timestamptz,
    -- Test orders are counted, and make no events unless the webhook says so.
    takes_tests boolean NOT NULL DEFAULT false,
    PRIMARY KEY (space_id, id)
);

-- The last deliveries of each webhook, unchanged, to find faults and to replay.
CREATE TABLE webhook_deliveries (
    space_id bigint NOT NULL,
    id bigint GENERATED ALWAYS AS IDENTITY,
    webhook_id bigint NOT NULL,
    received_at timestamptz NOT NULL,
    -- Those that say what a body is or may be mapped; never a credential.
    headers jsonb NOT NULL,
    -- Absent when nothing proves who sent it.
    body text,
    status text NOT NULL CHECK (status IN ('accepted', 'ignored', 'refused', 'paused')),
    detail text NOT NULL,
    receipt_id bigint,
    -- The event's idempotency key.
    dedup_key text,
    -- Deliveries that nothing proved to be the sender's are kept apart, so that strangers cannot
    -- push out those that were believed.
    believed boolean NOT NULL DEFAULT true,
    is_test boolean NOT NULL DEFAULT false,
    PRIMARY KEY (space_id, id)
);
CREATE INDEX webhook_deliveries_latest ON webhook_deliveries (space_id, webhook_id, believed, id);


-------------------------------------------------------------------------------- Imports

-- How far each imported file is, by its content: written in the transactions that store its rows.
CREATE TABLE imports (
    space_id bigint NOT NULL,
    kind text NOT NULL
        CHECK (kind IN ('events', 'orders', 'touchpoints', 'contacts', 'ads', 'spend')),
    -- SHA-256 of the file.
    digest bytea NOT NULL CHECK (length(digest) = 32),
    -- Which column was read as which field: another mapping is another import.
    mapping text NOT NULL,
    rows_done bigint NOT NULL DEFAULT 0,
    taken bigint NOT NULL DEFAULT 0,
    refused bigint NOT NULL DEFAULT 0,
    -- The number of taken rows by source, for past orders; '' is an unknown one.
    sources jsonb NOT NULL DEFAULT '{}',
    -- What the following orders of a shop's interface are requested by; empty for a file.
    position text NOT NULL DEFAULT '',
    started_at timestamptz NOT NULL DEFAULT now(),
    finished_at timestamptz,
    PRIMARY KEY (space_id, kind, digest, mapping)
);

-- Uploaded files. A row is the job of importing one, from its upload to its end. Its progress is in imports, where
-- imports at a terminal have theirs.
CREATE TABLE import_jobs (
    space_id bigint NOT NULL,
    id bigint GENERATED ALWAYS AS IDENTITY,
    kind text NOT NULL
        CHECK (kind IN ('events', 'orders', 'touchpoints', 'contacts', 'ads', 'spend')),
    name text NOT NULL,
    -- NULL: asked for over the API, by the Space's key, or fetched from the address of a watched file.
    user_id bigint,
    watched_file_id bigint,
    -- The name of the file in the object store, from before it is made until it is removed.
    file text,
    bytes bigint NOT NULL DEFAULT 0,
    digest bytea CHECK (length(digest) = 32),
    -- How its bytes are read as a table.
    encoding text NOT NULL DEFAULT 'utf-8-sig',
    delimiter text NOT NULL DEFAULT ',',
    -- How each column and its cells are read, in the order of the columns. Chosen on the page.
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
    -- The number of taken rows by source, for past orders; '' is an unknown one.
    sources jsonb NOT NULL DEFAULT '{}',
    -- Why it failed, or why its latest attempt did, in words for the person who uploaded it.
    error text,
    -- Hashes of the identifiers of people who were erased while the import was under way.
    erased bytea[] NOT NULL DEFAULT '{}',
    ended_at timestamptz,
    -- Files of spend may have lines before their header: a title, the days, the account.
    lines_before integer NOT NULL DEFAULT 0 CHECK (lines_before >= 0),
    PRIMARY KEY (space_id, id)
);
CREATE INDEX import_jobs_open ON import_jobs (space_id, id)
    WHERE status IN ('checking', 'queued', 'running');
CREATE INDEX import_jobs_kept ON import_jobs (space_id, id) WHERE file IS NOT NULL;
CREATE INDEX import_jobs_watched ON import_jobs (space_id, watched_file_id, id)
    WHERE watched_file_id IS NOT NULL;

-- Files that are fetched from an address and imported when their content changes.
CREATE TABLE watched_files (
    space_id bigint NOT NULL REFERENCES spaces,
    id bigint GENERATED ALWAYS AS IDENTITY,
    kind text NOT NULL
        CHECK (kind IN ('events', 'orders', 'touchpoints', 'contacts', 'ads', 'spend')),
    name text NOT NULL,
    address text NOT NULL,
    -- The settings of its imports, in the form of an upload over the API.
    settings jsonb NOT NULL DEFAULT '{}',
    -- Content that was imported before this time is imported again.
    settings_at timestamptz NOT NULL DEFAULT now(),
    -- Credentials as one JSON object, encrypted, and their names.
    secrets bytea,
    secret_names text[] NOT NULL DEFAULT '{}',
    -- A held one waits for a person; `fault` says for what.
    status text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'paused', 'held')),
    created_at timestamptz NOT NULL DEFAULT now(),
    next_fetch_at timestamptz NOT NULL DEFAULT now(),
    -- The last time that the file was fetched and read, changed or not.
    fetched_at timestamptz,
    -- Fetches in a row that failed, since when, why (a kind of fault), and in words.
    failures int NOT NULL DEFAULT 0,
    failing_since timestamptz,
    fault text,
    fault_message text,
    -- The process that is fetching, and the end of its lease.
    lease uuid,
    leased_until timestamptz,
    PRIMARY KEY (space_id, id)
);

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


-------------------------------------------------------------------------------- Exports

-- The row is the job, and the API's answer.
CREATE TABLE exports (
    space_id bigint NOT NULL,
    id bigint GENERATED ALWAYS AS IDENTITY,
    kind text NOT NULL CHECK (kind IN ('events', 'contacts', 'companies')),
    -- The request's body; read again when the job runs.
    request jsonb NOT NULL,
    -- The instants it covers, fixed at the request: a Space's zone may change later.
    range_start timestamptz NOT NULL,
    range_end timestamptz NOT NULL,
    status text NOT NULL DEFAULT 'queued'
        CHECK (status IN ('queued', 'processing', 'completed', 'failed')),
    created_at timestamptz NOT NULL DEFAULT now(),
    attempts int NOT NULL DEFAULT 0,
    -- The process with the token works on it until the lease ends, and renews the lease with its progress.
    -- `leased_until` stays when a lease ends: it shows until when erasures were blocked.
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
    -- The ending of its files' names, which says what is in them.
    extension text NOT NULL DEFAULT '.ndjson.gz',
    -- Rows of a file; NULL for one file, however large.
    rows_per_file bigint,
    -- Files whose names are taken, from before the first is made.
    parts int NOT NULL DEFAULT 1,
    -- The rows of each file, once all are in place.
    part_rows bigint[],
    -- Of a schedule's run: whose it is, and the folder that its files are moved to.
    schedule_id bigint,
    folder text,
    -- Exports of contacts come to their end while people are erased: one that an erasure has taken
    -- away from its process holds off the Space's erasures from its next attempt on, as long as its
    -- lease lasts.
    was_withdrawn boolean NOT NULL DEFAULT false,
    PRIMARY KEY (space_id, id),
    CHECK (status <> 'completed' OR completed_at IS NOT NULL),
    CHECK ((schedule_id IS NULL) = (folder IS NULL))
);
CREATE INDEX exports_open ON exports (space_id, id) WHERE status IN ('queued', 'processing');
CREATE INDEX exports_kept ON exports (space_id, completed_at) WHERE file IS NOT NULL;
CREATE UNIQUE INDEX exports_scheduled ON exports (space_id, schedule_id, folder)
    WHERE schedule_id IS NOT NULL;
CREATE INDEX exports_withdrawn ON exports (space_id, leased_until) WHERE was_withdrawn;

-- Exports that are made again and again, into a folder of the store that each has for itself.
CREATE TABLE export_schedules (
    space_id bigint NOT NULL REFERENCES spaces ON DELETE CASCADE,
    id bigint GENERATED ALWAYS AS IDENTITY,
    -- A part of the names of its files.
    name text NOT NULL CHECK (name !~ '[/.]' AND length(name) BETWEEN 1 AND 40),
    kind text NOT NULL CHECK (kind IN ('events', 'contacts', 'companies')),
    cadence text NOT NULL CHECK (cadence IN ('hourly', 'daily')),
    -- The body without the schedule's own fields; read again for every run.
    request jsonb NOT NULL,
    extension text NOT NULL,
    rows_per_file bigint NOT NULL,
    -- The first day of events, and the first day without a complete file.
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


-------------------------------------------------------------------------------- Forwarding

-- Ad platforms that events are sent to.
CREATE TABLE destinations (
    space_id bigint NOT NULL REFERENCES spaces,
    id bigint GENERATED ALWAYS AS IDENTITY,
    platform text NOT NULL,
    name text NOT NULL,
    -- A paused destination skips the events that arrive meanwhile; a held one, whose platform
    -- refused its credentials, keeps them waiting.
    status text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'paused', 'held', 'removed')),
    status_reason text,
    -- Whether events without a credited touchpoint of the platform go there as well.
    all_events boolean NOT NULL DEFAULT false,
    settings jsonb NOT NULL DEFAULT '{}',
    -- Event name → the platform's name or id where it is not the default; null: not sent.
    event_names jsonb NOT NULL DEFAULT '{}',
    -- The platform's tokens as one JSON object, encrypted, their names, and how often users have entered
    -- tokens: a refresh token that the platform renews does not count.
    secrets bytea,
    secret_names text[] NOT NULL DEFAULT '{}',
    secrets_version int NOT NULL DEFAULT 0,
    created_at timestamptz NOT NULL DEFAULT now(),
    -- Nothing is sent before: the platform asked for it, or has been failing.
    wait_until timestamptz NOT NULL DEFAULT '-infinity',
    -- Calls in a row that failed for the destination as a whole.
    failures int NOT NULL DEFAULT 0,
    -- The process that is sending, and the end of its lease.
    lease uuid,
    leased_until timestamptz,
    -- It stays until the platform accepts a call again, so that the recovery can be reported too.
    held_since timestamptz,
    -- The last try with a made-up event: when, whether the platform took it, its answer, and what
    -- helps against a failure. NULL while it has not been tried since it was changed.
    tested_at timestamptz,
    test_ok boolean,
    test_message text,
    test_remedy text,
    PRIMARY KEY (space_id, id)
);

-- What is sent of an event to a destination: the conversion, written with the event; once the platform is known to
-- have it, corrections of its amount; and a model's credit for each of the platform's clicks.
CREATE TABLE deliveries (
    space_id bigint NOT NULL,
    id bigint GENERATED ALWAYS AS IDENTITY,
    destination_id bigint NOT NULL,
    event_id bigint NOT NULL,
    kind text NOT NULL DEFAULT 'conversion' CHECK (kind IN ('conversion', 'correction', 'credit')),
    -- Counts an event's corrections, and its credits, from 1; 0 for the conversion.
    number int NOT NULL DEFAULT 0,
    -- The platform deduplicates by this id: assigned once, the same in every attempt.
    dedup_id text NOT NULL,
    status text NOT NULL DEFAULT 'queued'
        -- `delivered`: the platform accepted the request. `counted` and `refused` are its later verdict on
        -- the event, of platforms that publish one.
        CHECK (status IN ('queued', 'retrying', 'delivered', 'counted', 'refused', 'failed', 'expired',
                          'skipped')),
    -- Why it was skipped, or the platform's verdict refused or deferred it.
    reason text,
    attempts int NOT NULL DEFAULT 0,
    due_at timestamptz NOT NULL DEFAULT now(),
    -- Since when it is tried: when it was written, or last replayed.
    queued_at timestamptz NOT NULL DEFAULT now(),
    touchpoint_id bigint,
    -- Of the last attempt: its error in words, the platform's HTTP status, the event's part of the
    -- request without personal data, and the beginning of the answer.
    error text,
    http_status smallint,
    request jsonb,
    answer text,
    -- The platform's id of the request that it accepted.
    platform_request_id text,
    -- What the platform accepted: the amount (NULL in a correction that took the event back), its currency, and
    -- the account and name it was sent to. A correction must go to the same.
    sent_amount numeric(19, 4),
    sent_currency text,
    sent_to text,
    -- Of a platform that knows no id of ours: the account, name, time, click id, amount and currency of the first
    -- attempt that it may have received, stored before. Every later attempt repeats them, and corrections do.
    first_attempt jsonb,
    -- What a correction needs of a conversion's event once it is deleted: its contact, name, time and consent.
    former_event jsonb,
    -- A credit's share and model when the conversion was accepted.
    credit jsonb,
    created_at timestamptz NOT NULL DEFAULT now(),
    finished_at timestamptz,
    PRIMARY KEY (space_id, id),
    UNIQUE (space_id, event_id, destination_id, kind, number)
);
CREATE INDEX deliveries_due ON deliveries (space_id, destination_id, due_at, id)
    WHERE status IN ('queued', 'retrying');
CREATE INDEX deliveries_destination ON deliveries (space_id, destination_id, id);
-- Counted by status without reading them, and listed by status or reason, the latest first.
CREATE INDEX deliveries_status ON deliveries (space_id, destination_id, status, id);
CREATE INDEX deliveries_reason ON deliveries (space_id, destination_id, reason, id)
    WHERE reason IS NOT NULL;

CREATE TABLE delivery_attempts (
    space_id bigint NOT NULL,
    id bigint GENERATED ALWAYS AS IDENTITY,
    delivery_id bigint NOT NULL,
    attempted_at timestamptz NOT NULL,
    outcome text NOT NULL,
    http_status smallint,
    error text,
    PRIMARY KEY (space_id, id)
);
CREATE INDEX delivery_attempts_delivery ON delivery_attempts (space_id, delivery_id, id);

-- Accepted requests without a final verdict on their events. Only a delivery that still has the request's id gets
-- its verdict: others were replayed.
CREATE TABLE verdict_requests (
    space_id bigint NOT NULL,
    destination_id bigint NOT NULL,
    request_id text NOT NULL,
    -- The deliveries in the order of the request: the platform answers with their positions.
    delivery_ids bigint[] NOT NULL,
    sent_at timestamptz NOT NULL,
    due_at timestamptz NOT NULL,
    -- How often the platform was still processing it.
    asked int NOT NULL DEFAULT 0,
    PRIMARY KEY (space_id, destination_id, request_id)
);
CREATE INDEX verdict_requests_due ON verdict_requests (space_id, destination_id, due_at);

-- How many deliveries of each destination have each status, by the quarter of an hour of their creation. A
-- trigger updates them in the transaction that changes the deliveries. Each backend has rows of its own
-- (`writer`), so no transaction waits for another's count; a count is their sum.
CREATE TABLE delivery_counts (
    space_id bigint NOT NULL,
    destination_id bigint NOT NULL,
    quarter timestamptz NOT NULL,
    status text NOT NULL,
    writer int NOT NULL,
    -- May be below zero: one writer counts a delivery as queued, another takes it out as delivered.
    deliveries bigint NOT NULL,
    -- The deliveries of the quarter have ids from the one to the other. Both only ever widen.
    first_id bigint NOT NULL,
    last_id bigint NOT NULL,
    PRIMARY KEY (space_id, destination_id, quarter, status, writer)
);

-- Only called by the triggers below, with the transition tables that exist: `added`, `taken` or both. A
-- cluster (Citus) plans the INSERT on nodes without the trigger's rows, so they are counted first and the few
-- counts are added one by one.
CREATE FUNCTION count_deliveries() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    counts delivery_counts[];
    counted delivery_counts;
    backend int := pg_backend_pid();
BEGIN
    IF TG_OP = 'INSERT' THEN
        SELECT array_agg(g::delivery_counts) INTO counts FROM (
            SELECT a.space_id, a.destination_id, quarter_of(a.created_at), a.status, backend,
                   count(*), min(a.id), max(a.id)
            FROM added a
            GROUP BY 1, 2, 3, 4
        ) g;
    ELSE
        SELECT array_agg(g::delivery_counts) INTO counts FROM (
            SELECT a.space_id, a.destination_id, quarter_of(a.created_at), side.status, backend,
                   sum(side.number)::bigint, min(a.id), max(a.id)
            FROM added a
            JOIN taken t ON t.space_id = a.space_id AND t.id = a.id AND t.status <> a.status
            CROSS JOIN LATERAL (VALUES (a.status, 1), (t.status, -1)) AS side (status, number)
            GROUP BY 1, 2, 3, 4
        ) g;
    END IF;
    FOREACH counted IN ARRAY coalesce(counts, '{}') LOOP
        INSERT INTO delivery_counts AS c (space_id, destination_id, quarter, status, writer,
                                          deliveries, first_id, last_id)
        VALUES (counted.space_id, counted.destination_id, counted.quarter, counted.status,
                counted.writer, counted.deliveries, counted.first_id, counted.last_id)
        ON CONFLICT (space_id, destination_id, quarter, status, writer) DO UPDATE
        SET deliveries = c.deliveries + excluded.deliveries,
            first_id = least(c.first_id, excluded.first_id),
            last_id = greatest(c.last_id, excluded.last_id);
    END LOOP;
    RETURN NULL;
END
$$;

CREATE TRIGGER count_inserted AFTER INSERT ON deliveries
    REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION count_deliveries();
CREATE TRIGGER count_updated AFTER UPDATE ON deliveries
    REFERENCING OLD TABLE AS taken NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION count_deliveries();


-------------------------------------------------------------------------------- Alerts

-- Counts of a Space by the hour, or day, in its time zone, for as long as alerts look back. They are copied
-- from other tables and do not follow later changes of the rows.
CREATE TABLE hour_counts (
    space_id bigint NOT NULL,
    measure text NOT NULL,
    -- A source's number, a destination's id, or nothing.
    subject text NOT NULL,
    hour timestamp NOT NULL,
    number bigint NOT NULL,
    PRIMARY KEY (space_id, measure, subject, hour)
);

-- How far a Space has been looked at.
CREATE TABLE alert_watches (
    space_id bigint PRIMARY KEY REFERENCES spaces ON DELETE CASCADE,
    -- The zone on whose clock was counted: in another one, everything is counted anew.
    timezone text NOT NULL,
    -- Rows up to this receipt are counted.
    counted_id bigint NOT NULL,
    -- The latest receipt at a moment that is past: what was accepted up to it is processed by now.
    settled_id bigint NOT NULL,
    settled_at timestamptz NOT NULL,
    counted_at timestamptz NOT NULL,
    -- The end of the last hour that was judged, on the Space's clock.
    judged_until timestamp NOT NULL,
    next_at timestamptz NOT NULL,
    lease uuid,
    leased_until timestamptz
);
CREATE INDEX alert_watches_due ON alert_watches (next_at);

-- A Space's choice for a rule; without a row it is on, and normal.
CREATE TABLE alert_rules (
    space_id bigint NOT NULL REFERENCES spaces ON DELETE CASCADE,
    rule text NOT NULL,
    is_on boolean NOT NULL DEFAULT true,
    sensitivity text NOT NULL DEFAULT 'normal' CHECK (sensitivity IN ('low', 'normal', 'high')),
    muted_until timestamptz,
    PRIMARY KEY (space_id, rule)
);

-- Alert rules that members make: a figure of a report, and when it opens an alert.
CREATE TABLE custom_alert_rules (
    space_id bigint NOT NULL REFERENCES spaces ON DELETE CASCADE,
    id bigint GENERATED ALWAYS AS IDENTITY,
    measure text NOT NULL,
    condition text NOT NULL CHECK (condition IN ('below', 'above', 'without_orders')),
    threshold numeric(13, 4) NOT NULL,
    -- The currency of the threshold and of the report.
    currency text NOT NULL CHECK (currency ~ '^[A-Z]{3}$'),
    -- The full days before today that the figure covers.
    days int NOT NULL CHECK (days IN (1, 7, 30)),
    -- The only platform, source, channel or campaign, as `group:key`, and its name; empty for all.
    filter text NOT NULL CHECK (length(filter) <= 600),
    filter_name text NOT NULL,
    -- The rows that must not spend without orders.
    group_by text CHECK (group_by IN ('platform', 'campaign')),
    muted_until timestamptz,
    changed_at timestamptz NOT NULL DEFAULT now(),
    -- The last check: its figure, if there was one, and what to know about it.
    checked_at timestamptz,
    figure numeric,
    note text NOT NULL DEFAULT '',
    PRIMARY KEY (space_id, id),
    CHECK ((condition = 'without_orders') = (group_by IS NOT NULL))
);

CREATE TABLE alerts (
    space_id bigint NOT NULL REFERENCES spaces ON DELETE CASCADE,
    id bigint GENERATED ALWAYS AS IDENTITY,
    rule text NOT NULL,
    -- What it is about: a source, the id of a destination or of a custom rule, or nothing.
    subject text NOT NULL,
    title text NOT NULL,
    cause text NOT NULL,
    -- When it began: for rules that judge counts an hour or a day in the Space's time zone.
    began timestamp NOT NULL,
    opened_at timestamptz NOT NULL,
    ended_at timestamptz,
    is_severe boolean NOT NULL DEFAULT false,
    -- Consecutive checks without a problem.
    well int NOT NULL DEFAULT 0,
    acknowledged_at timestamptz,
    acknowledged_by bigint REFERENCES users ON DELETE SET NULL,
    -- Whether the last message about it said that it is open.
    is_announced boolean NOT NULL DEFAULT false,
    PRIMARY KEY (space_id, id)
);
CREATE INDEX alerts_unannounced ON alerts (space_id) WHERE is_announced <> (ended_at IS NULL);
CREATE UNIQUE INDEX alerts_open ON alerts (space_id, rule, subject) WHERE ended_at IS NULL;
CREATE INDEX alerts_latest ON alerts (space_id, opened_at, id);
CREATE INDEX alerts_acknowledged_by ON alerts (acknowledged_by);

-- What became of an alert, with the figures behind each step.
CREATE TABLE alert_steps (
    space_id bigint NOT NULL,
    id bigint GENERATED ALWAYS AS IDENTITY,
    alert_id bigint NOT NULL,
    step text NOT NULL CHECK (step IN ('opened', 'worsened', 'returned', 'ended', 'acknowledged')),
    at timestamptz NOT NULL,
    observed double precision,
    usual_low double precision,
    usual_middle double precision,
    usual_high double precision,
    -- The hours, or days, that the figures are of.
    span int,
    PRIMARY KEY (space_id, id),
    FOREIGN KEY (space_id, alert_id) REFERENCES alerts ON DELETE CASCADE
);
CREATE INDEX alert_steps_alert ON alert_steps (space_id, alert_id, id);


-------------------------------------------------------------------------------- Notifications

-- Where a Space receives its alerts and reports.
CREATE TABLE channels (
    space_id bigint NOT NULL REFERENCES spaces ON DELETE CASCADE,
    id bigint GENERATED ALWAYS AS IDENTITY,
    kind text NOT NULL CHECK (kind IN ('email', 'webhook')),
    name text NOT NULL CHECK (length(name) BETWEEN 1 AND 80),
    -- An e-mail address; empty for a webhook, because its address is a secret.
    address text,
    -- The webhook's address, encrypted, and what people know it by.
    secret bytea,
    hint text NOT NULL,
    -- The rules whose alerts go there.
    rules text[] NOT NULL,
    made_by bigint REFERENCES users ON DELETE SET NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    -- An address outside the Space's members must agree first. For others it is the time of creation.
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
    query text NOT NULL CHECK (length(query) <= 2000),
    cadence text NOT NULL CHECK (cadence IN ('daily', 'weekly', 'monthly')),
    -- Of a weekly one, 0 is Monday. Monthly ones are sent on the first.
    weekdays smallint[] NOT NULL CHECK (weekdays <@ '{0,1,2,3,4,5,6}'),
    -- On the Space's clock.
    send_at time NOT NULL,
    with_csv boolean NOT NULL,
    channel_ids bigint[] NOT NULL,
    made_by bigint REFERENCES users ON DELETE SET NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    -- Null if paused.
    next_at timestamptz,
    lease uuid,
    leased_until timestamptz,
    attempts int NOT NULL DEFAULT 0,
    last_at timestamptz,
    error text,
    PRIMARY KEY (space_id, id),
    CHECK ((cadence = 'weekly') = (cardinality(weekdays) > 0))
);
CREATE INDEX scheduled_reports_due ON scheduled_reports (next_at);
CREATE INDEX scheduled_reports_made_by ON scheduled_reports (made_by);


-------------------------------------------------------------------------------- Pages of reports

-- Saved views: a name for a report page and its choices. The address has no host.
CREATE TABLE saved_views (
    space_id bigint NOT NULL REFERENCES spaces ON DELETE CASCADE,
    id bigint GENERATED ALWAYS AS IDENTITY,
    user_id bigint NOT NULL REFERENCES users ON DELETE CASCADE,
    name text NOT NULL CHECK (length(name) BETWEEN 1 AND 80),
    page text NOT NULL,
    -- The part of the address after the `?`.
    query text NOT NULL CHECK (length(query) <= 2000),
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (space_id, id),
    UNIQUE (space_id, user_id, name)
);
CREATE INDEX saved_views_user ON saved_views (user_id);

-- Links that show one page of reports with its filters to people without an account.
CREATE TABLE share_links (
    space_id bigint NOT NULL REFERENCES spaces ON DELETE CASCADE,
    id bigint GENERATED ALWAYS AS IDENTITY,
    name text NOT NULL CHECK (length(name) BETWEEN 1 AND 80),
    page text NOT NULL,
    query text NOT NULL CHECK (length(query) <= 2000),
    token_hash bytea NOT NULL UNIQUE,
    made_by bigint REFERENCES users ON DELETE SET NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL,
    revoked_at timestamptz,
    -- To the minute.
    last_opened_at timestamptz,
    with_notes boolean NOT NULL DEFAULT false,
    PRIMARY KEY (space_id, id)
);
CREATE INDEX share_links_made_by ON share_links (made_by);

-- A person's note on a day, such as a new site or a paused campaign: marked in charts.
CREATE TABLE chart_notes (
    space_id bigint NOT NULL REFERENCES spaces ON DELETE CASCADE,
    id bigint GENERATED ALWAYS AS IDENTITY,
    -- On the Space's clock.
    day date NOT NULL,
    text text NOT NULL CHECK (length(text) BETWEEN 1 AND 200),
    made_by bigint REFERENCES users ON DELETE SET NULL,
    made_at timestamptz NOT NULL DEFAULT now(),
    changed_by bigint REFERENCES users ON DELETE SET NULL,
    changed_at timestamptz,
    PRIMARY KEY (space_id, id)
);
CREATE INDEX chart_notes_day ON chart_notes (space_id, day, id);
CREATE INDEX chart_notes_made_by ON chart_notes (made_by);
CREATE INDEX chart_notes_changed_by ON chart_notes (changed_by);


-------------------------------------------------------------------------------- Statistics

-- Columns that can hold personal data, without statistics: samples would outlive an erasure.
DO $$
DECLARE
    personal record;
BEGIN
    FOR personal IN
        SELECT t.name, string_to_table(t.columns, ' ') AS "column"
        FROM (VALUES
            ('inbox', 'payload'), ('rejected', 'payload'), ('unsigned_joins', 'browser'),
            ('companies', 'domain external_id name'),
            ('contacts', 'email name phone location city state country device_type os browser language'),
            ('contact_identifiers', 'value first_name last_name phone_digits'),
            ('events', 'order_id order_name checkout_token upsell_common_id idempotency_key company_external_id '
                'event_url user_agent ip warnings cookies heard_about_us'),
            ('order_refunds', 'order_id main_id order_ids reports counted'),
            ('tag_sets', 'digest account_id account_name campaign_id campaign_name adset_id adset_name ad_id '
                'ad_name keyword landing_page'),
            ('touchpoints', 'url referrer_host cookies warnings'),
            ('hits', 'event_name url referrer_host country device_type browser os key language campaign touch'),
            ('visits', 'device'), ('clicks', 'click device'),
            ('webhook_deliveries', 'headers body detail dedup_key'),
            ('refused_rows', 'reason cells'),
            ('deliveries', 'dedup_id first_attempt error request answer'), ('delivery_attempts', 'error'),
            ('chart_notes', 'text')
        ) AS t (name, columns)
        UNION ALL SELECT 'contacts', 'profile_field_' || number FROM generate_series(1, 30) number
    LOOP
        EXECUTE format('ALTER TABLE %I ALTER COLUMN %I SET STATISTICS 0', personal.name, personal.column);
    END LOOP;
END $$;
