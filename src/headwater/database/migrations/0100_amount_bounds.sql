-- Reports leave out amounts beyond a bound (rates/counted_amounts.py), and a lower bound applies to
-- what only a page reported.

-- True once somebody other than the page has set the amount.
ALTER TABLE events ADD COLUMN amount_confirmed boolean NOT NULL DEFAULT false;

-- Of events as they were: true while only a page had reported the amount.
ALTER TABLE former_events ADD COLUMN from_page boolean NOT NULL DEFAULT false;

-- Every report looks for the amounts of its days that are beyond a bound.
CREATE INDEX events_beyond_bounds ON events (space_id, event_time)
    WHERE abs(amount) > 100000000000
          OR (abs(amount) > 10000000 AND NOT amount_confirmed
              AND sender IN ('browser', 'signed_browser'));
