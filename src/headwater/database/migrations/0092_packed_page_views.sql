-- Page views that are old enough not to be needed singly are put together: what views of a visit
-- have is in one row, compressed, and no longer in one row of hits each.
--
--     hits  ──30 days──▶  packed_hits        with touch IS NULL: no view that could make a touchpoint
--       │                      │
--       └───page_view_days─────┴──▶  gone    with their visits, if the Space says so
--
-- packed_views/form.py has the form of `body`. A row's views are of one visit, one contact and
-- one origin, and lie within hours.
CREATE TABLE packed_hits (
    space_id bigint NOT NULL,
    -- Those of the views are from this one on, up to last_id.
    id bigint NOT NULL,
    contact_id bigint NOT NULL,
    -- NULL says "never moved", as in hits.
    origin_id bigint,
    visit_id bigint NOT NULL,
    last_id bigint NOT NULL,
    first_at timestamptz NOT NULL,
    last_at timestamptz NOT NULL,
    body bytea NOT NULL,
    PRIMARY KEY (space_id, id)
);
CREATE INDEX packed_hits_contact ON packed_hits (space_id, contact_id, last_at);
-- It is compressed already.
ALTER TABLE packed_hits ALTER COLUMN body SET STORAGE EXTERNAL, ALTER COLUMN body SET STATISTICS 0;

-- How far a Space's old page views have been seen to.
CREATE TABLE page_view_upkeep (
    space_id bigint PRIMARY KEY,
    -- Every view up to it is packed, or is one that stays.
    packed_id bigint NOT NULL DEFAULT 0,
    -- Views from before have been deleted, as far as there were any; NULL where none ever was.
    forgotten_before timestamptz,
    -- When there was nothing left to do.
    looked_at timestamptz NOT NULL
);

-- Days after which page views are deleted; NULL keeps them.
ALTER TABLE spaces ADD COLUMN page_view_days integer;
ALTER TABLE spaces
    ADD CONSTRAINT spaces_page_view_days CHECK (page_view_days BETWEEN 30 AND 3650);
