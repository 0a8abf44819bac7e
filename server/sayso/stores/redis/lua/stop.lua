-- Asks a holder to stop. KEYS: 1 the thread. ARGV: 1 fence, 2 "1" if somebody asks, 3 who, 4 "1" if
-- through some channel, 5 which. Gives "conflict" or "done".

local found = redis.call("HMGET", KEYS[1], "fence", "holder", "stopping")
if found[1] ~= ARGV[1] or not found[2] then
    return "conflict"
end
if not found[3] then
    redis.call("HSET", KEYS[1], "stopping", "1")
    if ARGV[2] == "1" then
        redis.call("HSET", KEYS[1], "stop_by", ARGV[3])
    end
    if ARGV[4] == "1" then
        redis.call("HSET", KEYS[1], "stop_channel", ARGV[5])
    end
end
return "done"
