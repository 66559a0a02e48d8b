-- What currencies were worth, by day.

-- As the operator brought them in for all Spaces: the European Central Bank's reference rates.
CREATE TABLE reference_rates (
    date date NOT NULL,
    currency text NOT NULL CHECK (currency ~ '^[A-Z]{3}$'),
    -- Units of the currency for one euro.
    per_euro numeric NOT NULL CHECK (per_euro > 0),
    PRIMARY KEY (date, currency)
);

-- As a Space has its own, which come first.
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

-- The days, in UTC, on which a Space has events that name a currency: a report has to look for events
-- of another currency than its own on no other day. What is deleted leaves its day behind.
CREATE TABLE currency_days (
    space_id bigint NOT NULL,
    currency text NOT NULL,
    day date NOT NULL,
    PRIMARY KEY (space_id, currency, day)
);
INSERT INTO currency_days (space_id, currency, day)
SELECT DISTINCT e.space_id, e.currency, (e.event_time AT TIME ZONE 'UTC')::date
FROM events e
WHERE e.currency IS NOT NULL;
