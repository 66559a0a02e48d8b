-- What data-driven models were fitted to, and the weights that came of it: snapshots that are never
-- changed.
CREATE TABLE fits (
    space_id bigint NOT NULL REFERENCES spaces ON DELETE CASCADE,
    id bigint GENERATED ALWAYS AS IDENTITY,
    -- What people call it.
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
    -- Of all this, as hexadecimal SHA-256.
    digest text NOT NULL,
    made_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (space_id, id),
    UNIQUE (space_id, name)
);

CREATE TABLE fitted_weights (
    space_id bigint NOT NULL,
    fit_id bigint NOT NULL,
    model text NOT NULL,
    source text NOT NULL,
    weight numeric(10, 9) NOT NULL CHECK (weight BETWEEN 0 AND 1),
    low numeric(10, 9) NOT NULL,
    high numeric(10, 9) NOT NULL,
    PRIMARY KEY (space_id, fit_id, model, source),
    FOREIGN KEY (space_id, fit_id) REFERENCES fits (space_id, id) ON DELETE CASCADE
);
