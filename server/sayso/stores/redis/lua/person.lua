-- The id of a person in the audit trail, with its salt in front; who is not known yet is added.
--
-- KEYS: 1 ids by names, 2 names by ids. ARGV: 1 the name, 2 a salt, 3 an id made of both.

local known = redis.call("HGET", KEYS[1], ARGV[1])
if known then
    return known
end
redis.call("HSETNX", KEYS[1], ARGV[1], ARGV[2] .. ARGV[3])
redis.call("HSETNX", KEYS[2], ARGV[3], ARGV[2] .. ARGV[1])
return ARGV[2] .. ARGV[3]
