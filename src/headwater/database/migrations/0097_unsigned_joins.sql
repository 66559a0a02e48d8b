-- Whoever knows customers' addresses could give a browser's past to all of them. So a browser, and an
-- address, joins few known contacts in an hour, and a site can leave it to its own server.

-- The contacts that browsers joined in the last hour. `browser` is a hash of the visitor's token, or of
-- the address; older rows are deleted with the next ones.
CREATE TABLE unsigned_joins (
    space_id bigint NOT NULL,
    browser text NOT NULL,
    contact_id bigint NOT NULL,
    joined_at timestamptz NOT NULL,
    PRIMARY KEY (space_id, browser, contact_id)
);
ALTER TABLE unsigned_joins ALTER COLUMN browser SET STATISTICS 0;
CREATE INDEX unsigned_joins_time ON unsigned_joins (space_id, joined_at);
CREATE INDEX unsigned_joins_contact ON unsigned_joins (space_id, contact_id);

-- Joins that were refused because of the limit, counted by the hour for a week.
CREATE TABLE refused_joins (
    space_id bigint NOT NULL,
    hour timestamptz NOT NULL,
    joins bigint NOT NULL,
    PRIMARY KEY (space_id, hour)
);

-- Whether only signed identifies and servers join a browser's past to a known contact.
ALTER TABLE sites ADD COLUMN signed_only boolean NOT NULL DEFAULT false;
