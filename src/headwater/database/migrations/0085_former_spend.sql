-- The ledger of spend as it was, so that a report of spend can say why it has changed:
--
--     a key     first import      replaced by a later report      deleted
--               revision 4                 revision 7             revision 9
--     spend          ├─ 25.00, revision 4 ─┤├─ 30.00, revision 7 ──┤
--     former_spend                          25.00, 4 until 7        30.00, 7 until 9
--
-- What is there from the beginning, or has come in before this was counted, is of revision 0.

-- The number of the change with which a row came in, or got the figures that it has.
ALTER TABLE spend ADD COLUMN revision bigint NOT NULL DEFAULT 0;

-- Rows with the figures that they had from one change until another, and why they have them no longer.
-- Null is what a report did not say.
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
