-- Takes what one process of all does. KEYS: 1 the duty. ARGV: 1 the time or "", 2 holder,
-- 3 milliseconds. Gives 1 or 0.

if redis.replicate_commands then
    redis.replicate_commands() -- before Redis 7, a script that asks for the time must say this
end

local now = tonumber(ARGV[1])
if not now then
    local time = redis.call("TIME")
    now = time[1] * 1000 + math.floor(time[2] / 1000)
end
local found = redis.call("HMGET", KEYS[1], "holder", "until")
if found[1] and found[1] ~= ARGV[2] and tonumber(found[2]) > now then
    return 0
end
redis.call("HSET", KEYS[1], "holder", ARGV[2], "until", string.format("%.0f", now + ARGV[3]))
return 1
