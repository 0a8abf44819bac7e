-- Notes that a run reached its reader. KEYS: 1 the thread's runs. ARGV: 1 the run.

local old = redis.call("HGET", KEYS[1], ARGV[1])
if old and old:sub(1, 1) == "0" then
    redis.call("HSET", KEYS[1], ARGV[1], "1" .. old:sub(2))
end
return "done"
