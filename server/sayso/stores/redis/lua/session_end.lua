-- Ends sessions. KEYS: 1 the step's own key, 2… the sessions. ARGV: their digests. Gives a line for
-- each that was there: its digest, a space, what was kept.

local known = redis.call("GET", KEYS[1])
if known then
    return known
end
local ended = {}
for place = 2, #KEYS do
    local value = redis.call("GET", KEYS[place])
    if value then
        ended[#ended + 1] = ARGV[place - 1] .. " " .. value
        redis.call("DEL", KEYS[place])
    end
end
local outcome = table.concat(ended, "\n")
redis.call("SET", KEYS[1], outcome, "PX", 30000)
return outcome
