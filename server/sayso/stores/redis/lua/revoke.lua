-- Writes an approval anew if it is what was read. KEYS: 1 the step's own key, 2 the approvals.
-- ARGV: 1 its id, 2 what was read, 3 what it is to be. Gives "changed" or "done".

local known = redis.call("GET", KEYS[1])
if known then
    return known
end
if redis.call("HGET", KEYS[2], ARGV[1]) ~= ARGV[2] then
    return "changed"
end
redis.call("HSET", KEYS[2], ARGV[1], ARGV[3])
redis.call("SET", KEYS[1], "done", "PX", 30000)
return "done"
