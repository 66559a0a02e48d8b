-- What somebody remembers of a day, such as a new site or a paused campaign: marked in charts.
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
ALTER TABLE chart_notes ALTER COLUMN text SET STATISTICS 0;

-- Whether whoever has the link sees the notes, too.
ALTER TABLE share_links ADD COLUMN with_notes boolean NOT NULL DEFAULT false;
