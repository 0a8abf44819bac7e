-- Takes contents of audit rows away, and adds the row that says so.
--
-- Behind `trail_head`. KEYS: 6 the thread. ARGV: 2 up to which number, then of the new row its number,
-- its content, itself, and what the scope lists. Gives "held" (the thread is on hold) or "done".

if redis.call("HEXISTS", KEYS[6], "hold") == 1 then
    return "held"
end
for number = 1, tonumber(ARGV[2]) do
    redis.call("HDEL", KEYS[3], string.format("%.0f", number))
end
add(ARGV[3], ARGV[4], ARGV[5], ARGV[6])
return done()
