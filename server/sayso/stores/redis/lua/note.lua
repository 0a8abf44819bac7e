-- Adds rows that belong to no thread, and with them writes a row of a table if it is what was read.
--
-- Behind `trail_head`. KEYS: 6 the table. ARGV: 2 the id in the table or "", 3 what was read of it, ""
-- for nothing, 4 what it is to be; then of each row its number, its content, itself, and what the scope
-- lists. Gives "other" (the table is) or "done".

if ARGV[2] ~= "" then
    if (redis.call("HGET", KEYS[6], ARGV[2]) or "") ~= ARGV[3] then
        return "other"
    end
    redis.call("HSET", KEYS[6], ARGV[2], ARGV[4])
end
for at = 5, #ARGV, 4 do
    add(ARGV[at], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3])
end
return done()
