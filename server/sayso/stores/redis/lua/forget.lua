-- Takes away who somebody is that audit rows tell of, and whose the threads of that owner were, and
-- adds the row that says so.
--
-- Behind `trail_head`. KEYS: 6 ids by names, 7 names by ids, 8 the notes. ARGV: 2 the name, 3 the id or
-- "", then of the new row its number, its content, itself, and what the scope lists. Gives "done".

-- No entry of a stream can be changed, so all are written anew.
local notes, own = redis.call("XRANGE", KEYS[8], "-", "+"), false
for _, note in ipairs(notes) do
    local row = cjson.decode(note[2][2])
    if row[3] == ARGV[2] then
        own, row[3] = true, ""
        note[2][2] = cjson.encode(row)
    end
end
if own then
    redis.call("DEL", KEYS[8])
    for _, note in ipairs(notes) do
        redis.call("XADD", KEYS[8], note[1], "c", note[2][2])
    end
end
if ARGV[3] ~= "" then
    redis.call("HDEL", KEYS[6], ARGV[2])
    redis.call("HDEL", KEYS[7], ARGV[3])
    add(ARGV[4], ARGV[5], ARGV[6], ARGV[7])
end
return done()
