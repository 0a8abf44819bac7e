-- min_reader: 1
-- The bytes that threads take, counted anew whenever a thread is let go or changed idle. Both indexes
-- hold them, so that the threads of an owner, or of a scope, are added up without a look at each.

ALTER TABLE thread ADD COLUMN size bigint NOT NULL DEFAULT 0;
UPDATE thread SET size =
    (SELECT coalesce(sum(length(body)), 0) FROM message WHERE message.thread = thread.key)
    + (SELECT coalesce(sum(length(data)), 0) FROM entry WHERE entry.thread = thread.key);
DROP INDEX thread_listed;
DROP INDEX thread_owned;
CREATE INDEX thread_listed ON thread (scope, active_at, key) INCLUDE (size);
CREATE INDEX thread_owned ON thread (scope, owner, active_at, key) INCLUDE (size);
