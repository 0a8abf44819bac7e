-- Notes that a session is used, if it is what was read. KEYS: 1 the session. ARGV: 1 what was read,
-- 2 what it is to be, 3 in how many milliseconds it ends.

if redis.call("GET", KEYS[1]) == ARGV[1] then
    redis.call("SET", KEYS[1], ARGV[2], "PX", ARGV[3])
end
return "done"
