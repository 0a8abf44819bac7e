-- A thread at one instant. KEYS: 1 the thread, 2 its turns, 3 runs, 4 runs by run id, 5 interrupts,
-- 6 interrupts by turn, 7 messages. ARGV: 1 a run id with its length in front, or ""; ids of
-- interrupts.
--
-- Gives nothing of an unknown thread; else its members, the newest turn, the newest run, the newest
-- run with that run id, the newest turn's interrupts in order, those with the ids, the messages.

local thread = redis.call("HGETALL", KEYS[1])
if #thread == 0 then
    return false
end
local newest = redis.call("HMGET", KEYS[1], "turn", "run")
local turn = redis.call("HGET", KEYS[2], newest[1])
local run = redis.call("HGET", KEYS[3], newest[2])
local named = false
if ARGV[1] ~= "" then
    local members = redis.call("ZREVRANGEBYLEX", KEYS[4], "(" .. ARGV[1] .. "}", "[" .. ARGV[1] .. "|", "LIMIT", 0, 1)
    if members[1] then
        named = redis.call("HGET", KEYS[3], members[1]:sub(#ARGV[1] + 19))
    end
end
local prefix = #newest[1] .. ":" .. newest[1]
local own, asked = {}, {}
for _, member in ipairs(redis.call("ZRANGEBYLEX", KEYS[6], "[" .. prefix .. "|", "(" .. prefix .. "}")) do
    own[#own + 1] = redis.call("HGET", KEYS[5], member:sub(#prefix + 19))
end
for n = 2, #ARGV do
    asked[#asked + 1] = redis.call("HGET", KEYS[5], ARGV[n])
end
return { thread, turn, run, named, own, asked, redis.call("HGETALL", KEYS[7]) }
