-- Why reports of pages were refused: the latest of each reason, so that a site has a handful of rows
-- whatever strangers send.
CREATE TABLE site_refusals (
    space_id bigint NOT NULL,
    site_id bigint NOT NULL,
    reason text NOT NULL CHECK (reason IN ('origin', 'key', 'clock', 'invalid')),
    -- The page's origin, the key that no site has, or the field at fault.
    detail text NOT NULL CHECK (length(detail) <= 300),
    noted_at timestamptz NOT NULL,
    PRIMARY KEY (space_id, site_id, reason)
);

-- A report with an unknown key says by its origin alone whose site it may be of.
CREATE INDEX sites_origins ON sites USING gin (origins);

-- The latest test of a site that somebody began in the console.
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
