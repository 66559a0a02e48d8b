-- What is counted in a Space by the hour, or day, of its clock, for as long as alerts look back. Made
-- of other tables; what became of the rows since does not change it.
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

-- What a Space has chosen for a rule; without a row it is on, and normal.
CREATE TABLE alert_rules (
    space_id bigint NOT NULL REFERENCES spaces ON DELETE CASCADE,
    rule text NOT NULL,
    is_on boolean NOT NULL DEFAULT true,
    sensitivity text NOT NULL DEFAULT 'normal' CHECK (sensitivity IN ('low', 'normal', 'high')),
    muted_until timestamptz,
    PRIMARY KEY (space_id, rule)
);

CREATE TABLE alerts (
    space_id bigint NOT NULL REFERENCES spaces ON DELETE CASCADE,
    id bigint GENERATED ALWAYS AS IDENTITY,
    rule text NOT NULL,
    -- What it is about: a source, a destination's id, or nothing.
    subject text NOT NULL,
    title text NOT NULL,
    cause text NOT NULL,
    -- The step of the Space's clock at which it began, for rules that judge counts.
    began timestamp NOT NULL,
    opened_at timestamptz NOT NULL,
    ended_at timestamptz,
    is_severe boolean NOT NULL DEFAULT false,
    -- Looks in a row by which all is well again.
    well int NOT NULL DEFAULT 0,
    acknowledged_at timestamptz,
    acknowledged_by bigint REFERENCES users ON DELETE SET NULL,
    PRIMARY KEY (space_id, id)
);
CREATE UNIQUE INDEX alerts_open ON alerts (space_id, rule, subject) WHERE ended_at IS NULL;
CREATE INDEX alerts_latest ON alerts (space_id, opened_at, id);
CREATE INDEX alerts_acknowledged_by ON alerts (acknowledged_by);

-- What became of an alert, and the figures by which.
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
