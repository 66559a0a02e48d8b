-- What a Space sells costs a part of its revenue, in per cent: what is left of revenue after it and after
-- spend is the contribution. Null where nobody has said it.

ALTER TABLE spaces ADD COLUMN cost_rate numeric(5, 2) CHECK (cost_rate BETWEEN 0 AND 100);
