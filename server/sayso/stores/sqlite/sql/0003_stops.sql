-- min_reader: 1
-- By whom, and by which channel, a holder was asked to stop. `stop_noted` is the fence of the holder
-- that the two speak of: code of schema 2 asks without saying who.
ALTER TABLE thread ADD COLUMN stop_noted INTEGER;
ALTER TABLE thread ADD COLUMN stop_by TEXT;
ALTER TABLE thread ADD COLUMN stop_channel TEXT;
