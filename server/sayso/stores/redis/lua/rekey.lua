-- Writes values of a hash anew that are still what was read. KEYS: 1 the hash, 2 its thread, 3 the
-- bytes of all owners. ARGV: 1 "1" if the bytes count, then fields with what was read and what is
-- to be. Gives how many were not what was read.

local grown, changed = 0, 0
for n = 2, #ARGV, 3 do
    if redis.call("HGET", KEYS[1], ARGV[n]) == ARGV[n + 1] then
        redis.call("HSET", KEYS[1], ARGV[n], ARGV[n + 2])
        grown = grown + #ARGV[n + 2] - #ARGV[n + 1]
    else
        changed = changed + 1
    end
end
local owner = ARGV[1] == "1" and redis.call("HGET", KEYS[2], "owner")
if owner then
    redis.call("HINCRBY", KEYS[2], "size", grown)
    redis.call("HINCRBY", KEYS[3], #owner .. ":" .. owner, grown)
    redis.call("HINCRBY", KEYS[3], "all", grown)
end
return changed
