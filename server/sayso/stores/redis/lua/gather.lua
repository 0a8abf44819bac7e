-- Fields of several hashes in one answer. KEYS: the hashes. ARGV: 1 how many fields of each, then
-- the fields, hash by hash. Gives a list of values for each hash.

local count, found = tonumber(ARGV[1]), {}
for n, key in ipairs(KEYS) do
    found[n] = redis.call("HMGET", key, unpack(ARGV, 2 + (n - 1) * count, 1 + n * count))
end
return found
