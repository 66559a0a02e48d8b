-- The fit that a Space goes by where none is named, for each event name that has fits.
CREATE TABLE current_fits (
    space_id bigint NOT NULL,
    event_name text NOT NULL,
    fit_id bigint NOT NULL,
    chosen_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (space_id, event_name),
    FOREIGN KEY (space_id, fit_id) REFERENCES fits (space_id, id) ON DELETE CASCADE
);

-- The newest fit of each name of events that there was before.
INSERT INTO current_fits (space_id, event_name, fit_id)
SELECT f.space_id, f.event_name, max(f.id) FROM fits f GROUP BY f.space_id, f.event_name;
