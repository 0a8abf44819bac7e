-- What a step is planned on. KEYS: 1 the thread, 2 its turns, 3 interrupts, 4 interrupts by turn,
-- 5 audit rows. ARGV: how many keys of turns follow, and they; then ids of interrupts.
--
-- Gives the thread's members, its last audit row, of each turn whether it is known, and the
-- interrupts of those turns, of the newest one and with those ids, each id before its value.

local thread = redis.call("HMGET", KEYS[1], "number", "owner", "agent", "revision", "fence",
    "holder", "turn", "status", "listed", "active", "updated", "checkpoint", "hold")
local last = redis.call("XREVRANGE", KEYS[5], "+", "-", "COUNT", 1)
local known, found, seen = {}, {}, {}

local function add(id)
    if not seen[id] then
        seen[id] = true
        local value = redis.call("HGET", KEYS[3], id)
        if value then
            found[#found + 1] = id
            found[#found + 1] = value
        end
    end
end

local function of_turn(key)
    local prefix = #key .. ":" .. key
    for _, member in ipairs(redis.call("ZRANGEBYLEX", KEYS[4], "[" .. prefix .. "|", "(" .. prefix .. "}")) do
        add(member:sub(#prefix + 19))
    end
end

local turns = tonumber(ARGV[1])
for n = 2, turns + 1 do
    known[#known + 1] = redis.call("HEXISTS", KEYS[2], ARGV[n])
    of_turn(ARGV[n])
end
if thread[7] then
    of_turn(thread[7])
end
for n = turns + 2, #ARGV do
    add(ARGV[n])
end
return { thread, last, known, found }
