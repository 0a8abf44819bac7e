-- Prolongs a lease. KEYS: 1 the thread, 2 abandoned. ARGV: 1 the time or "", 2 fence, 3 holder,
-- 4 milliseconds, 5 thread id. Gives "lost", "stopping" or "kept".

if redis.replicate_commands then
    redis.replicate_commands() -- before Redis 7, a script that asks for the time must say this
end

local found = redis.call("HMGET", KEYS[1], "fence", "holder", "stopping", "due", "number")
if found[1] ~= ARGV[2] or found[2] ~= ARGV[3] then
    return "lost"
end
local now = tonumber(ARGV[1])
if not now then
    local time = redis.call("TIME")
    now = time[1] * 1000 + math.floor(time[2] / 1000)
end
local lasts = now + ARGV[4]
local member = string.format("%019.0f.", lasts) .. found[5] .. "||" .. ARGV[5]
redis.call("HSET", KEYS[1], "until", string.format("%.0f", lasts), "due", member)
redis.call("ZREM", KEYS[2], found[4])
redis.call("ZADD", KEYS[2], 0, member)
return found[3] and "stopping" or "kept"
