-- Does a step that was planned, all of it or nothing, and once however often it is sent.
--
-- KEYS: 1 the step's own key, 2 the thread, 3 the scope's counters, 4 what new threads begin above,
-- 5 abandoned, 6 waking, 7 ready, 8 the thread's audit rows, 9 its interrupts, 10 the bytes of all
-- owners; the operations' own.
-- ARGV: 1 the time or "", 2 what has to be true: new, take, hold, idle, gone or noted, 3 revision,
-- 4 fence, 5 holder, 6 milliseconds of a lease or "", 7 thread id, 8 its number, 9 audit rows so
-- far, 10 how many interrupts are new, and their ids, which must not be known; then operations: a
-- name, the place of a key, how many arguments, and they. Upper case: a command.
--
-- Gives "conflict", "lost", "changed", or "done" with revision, fence, the number before the first
-- new interrupt, whether to stop, and the lease's end.

if redis.replicate_commands then
    redis.replicate_commands() -- before Redis 7, a script that asks for the time must say this
end

local known = redis.call("GET", KEYS[1])
if known then
    return known
end
-- Whoever was stopped for longer than that is kept sends again what may be the newest step still.
local newest = redis.call("HGET", KEYS[2], "step")
if newest and newest:sub(1, #KEYS[1] + 1) == KEYS[1] .. " " then
    return newest:sub(#KEYS[1] + 2)
end

local thread, counters, floor = KEYS[2], KEYS[3], KEYS[4]
local arms = { abandoned = KEYS[5], waking = KEYS[6], ready = KEYS[7] }
local mode, id, number = ARGV[2], ARGV[7], ARGV[8]

local now = tonumber(ARGV[1])
if not now then
    local time = redis.call("TIME")
    now = time[1] * 1000 + math.floor(time[2] / 1000)
end

local function moment(n)
    return string.format("%019.0f", n)
end

local function place(n)
    return string.format("%016.0f", n)
end

-- What has to be true.

local found = redis.call("HMGET", thread, "revision", "fence", "holder", "until", "stopping",
    "owner", "size")
local revision, fence = found[1], found[2]
if mode == "new" then
    if revision then
        return "conflict"
    end
    local least = redis.call("HMGET", floor, "revision", "fence")
    revision, fence = least[1] or 0, least[2] or 0
elseif mode == "hold" then
    if not revision or fence ~= ARGV[4] or found[3] ~= ARGV[5] then
        return "lost"
    end
    if revision ~= ARGV[3] then
        return "changed"
    end
else
    if not revision or revision ~= ARGV[3] then
        return "conflict"
    end
    if mode == "idle" and found[3] then
        return "conflict"
    end
    if (mode == "take" or mode == "gone") and found[4] and tonumber(found[4]) > now then
        return "conflict"
    end
end
if redis.call("XLEN", KEYS[8]) ~= tonumber(ARGV[9]) then
    return "changed"
end
local at = 11
for _ = 1, tonumber(ARGV[10]) do
    if redis.call("HEXISTS", KEYS[9], ARGV[at]) == 1 then
        return "changed"
    end
    at = at + 1
end

-- From here on everything happens. A server without memory refuses the first write or none, so the
-- first one asks for memory, unless it is to free some.

revision = tonumber(revision) + 1
fence = tonumber(fence)
local lasts, base = "", 0
if mode ~= "gone" then
    redis.call("HSET", thread, "revision", string.format("%.0f", revision))
end
if mode == "new" or mode == "take" then
    fence = fence + 1
    lasts = string.format("%.0f", now + ARGV[6])
    redis.call("HSET", thread, "fence", string.format("%.0f", fence), "holder", ARGV[5], "until", lasts)
    redis.call("HDEL", thread, "stopping", "stop_by", "stop_channel")
end
if tonumber(ARGV[10]) > 0 then
    base = redis.call("HINCRBY", counters, "interrupts", ARGV[10]) - ARGV[10]
end

local function text(n)
    return ARGV[n]
end

local function key_at(n)
    return KEYS[tonumber(ARGV[n])]
end

local function next_place()
    return place(redis.call("HINCRBY", thread, "places", 1))
end

local ops = {}

-- Values that count: by how many bytes the thread grows.
local grown = 0
local function keep(key, field, value)
    grown = grown + #value - redis.call("HSTRLEN", key, field)
    redis.call("HSET", key, field, value)
end
ops["keep"] = function(key, n)
    keep(key, text(n), text(n + 1))
end

-- A member of a sorted list, or a value, with the number of a new interrupt in it.
ops["zadd+"] = function(key, n)
    redis.call("ZADD", key, 0, text(n) .. place(base + text(n + 1)) .. text(n + 2))
end
ops["hset+"] = function(key, n)
    keep(key, text(n), place(base + text(n + 1)) .. text(n + 2))
end

-- A journal entry keeps its place when it is written again.
ops["entry"] = function(key, n)
    local old = redis.call("HGET", key, text(n))
    keep(key, text(n), (old and old:sub(1, 16) or next_place()) .. text(n + 1))
end
ops["forget"] = function(key, n)
    local prefix = text(n)
    for _, field in ipairs(redis.call("HKEYS", key)) do
        if field:sub(1, #prefix) == prefix then
            grown = grown - redis.call("HSTRLEN", key, field)
            redis.call("HDEL", key, field)
        end
    end
end

-- Messages: visibility, place, record; those that wait also stand in a list of their own.
local function put_message(key, waiting, name, visibility, where, record)
    keep(key, name, visibility .. where .. record)
    if visibility == "w" then
        redis.call("ZADD", waiting, 0, where .. name)
    else
        redis.call("ZREM", waiting, where .. name)
    end
end
ops["append"] = function(key, n)
    local old = redis.call("HGET", key, text(n + 1))
    if not old then
        put_message(key, key_at(n), text(n + 1), text(n + 2), next_place(), text(n + 3))
    elseif old:sub(1, 1) == "h" then
        redis.call("HSET", key, text(n + 1), "v" .. old:sub(2))
    end
end
ops["put"] = function(key, n)
    local old = redis.call("HGET", key, text(n + 1))
    local where = old and old:sub(2, 17) or next_place()
    put_message(key, key_at(n), text(n + 1), text(n + 2), where, text(n + 3))
end
ops["hide"] = function(key, n)
    local old = redis.call("HGET", key, text(n))
    if old and old:sub(1, 1) == "v" then
        redis.call("HSET", key, text(n), "h" .. old:sub(2))
    end
end
ops["dequeue"] = function(key, n)
    local waiting = key_at(n)
    for _, member in ipairs(redis.call("ZRANGE", waiting, 0, -1)) do
        local name = member:sub(17)
        local old = redis.call("HGET", key, name)
        redis.call("HSET", key, name, "v" .. next_place() .. old:sub(18))
    end
    redis.call("DEL", waiting)
end

-- What others may read of a thread that waits: its visible messages between two pieces of JSON.
ops["checkpoint"] = function(key, n)
    local flat, shown = redis.call("HGETALL", key_at(n)), {}
    for m = 2, #flat, 2 do
        if flat[m]:sub(1, 1) == "v" then
            shown[#shown + 1] = flat[m]
        end
    end
    table.sort(shown, function(a, b)
        return a:sub(2, 17) < b:sub(2, 17)
    end)
    for m, message in ipairs(shown) do
        shown[m] = message:sub(message:find("\n", 18, true) + 1)
    end
    local told = text(n + 1) .. table.concat(shown, ",") .. text(n + 2)
    if text(n + 3) == "" then
        redis.call("SET", key, told)
    else
        redis.call("SET", key, told, "PX", text(n + 3))
    end
end

-- Runs: delivered or not, place, run id with its length in front, record.
ops["run"] = function(key, n)
    local order, names, name, run_id = key_at(n), key_at(n + 1), text(n + 2), text(n + 3)
    local old = redis.call("HGET", key, name)
    local where
    if old then
        where = old:sub(2, 17)
        local length = old:match("^%d+", 18)
        local before = old:sub(18, 18 + #length + length)
        redis.call("ZREM", names, before .. "|" .. where .. "|" .. name)
    else
        where = next_place()
        redis.call("ZADD", order, where, name)
        redis.call("HSET", thread, "run", name)
    end
    redis.call("ZADD", names, 0, run_id .. "|" .. where .. "|" .. name)
    keep(key, name, text(n + 4) .. where .. run_id .. text(n + 6))
    if redis.call("HGET", thread, "run") == name then
        redis.call("HSET", thread, "outcome", text(n + 5))
    end
end

-- Notes and rows that have a number in the whole scope.
ops["note"] = function(key, n)
    local mark = redis.call("HINCRBY", counters, "mark", 1)
    redis.call("XADD", key, "MAXLEN", "~", text(n), string.format("%.0f-0", mark), "c", text(n + 1))
end
ops["ledger"] = function(key, n)
    local row = redis.call("HINCRBY", counters, "ledger", 1)
    redis.call("XADD", key, string.format("%.0f-0", row), "r", text(n))
end

-- Approvals, and what they were used for: moment and number, then the rest.
ops["approve"] = function(key, n)
    if redis.call("HEXISTS", key, text(n + 3)) == 1 then
        return
    end
    local where = text(n + 4) .. "." .. place(redis.call("HINCRBY", counters, "approvals", 1))
    redis.call("HSET", key, text(n + 3), where .. text(n + 5))
    redis.call("ZADD", key_at(n), 0, where .. "|" .. text(n + 3))
    redis.call("ZADD", key_at(n + 1), 0, where .. "|" .. text(n + 3))
    if text(n + 2) ~= "" then
        redis.call("SADD", key_at(n + 2), text(n + 3))
    end
end
ops["use"] = function(key, n)
    if redis.call("HEXISTS", key, text(n + 3)) == 1 then
        return
    end
    local where = text(n + 4) .. "." .. place(redis.call("HINCRBY", counters, "approvals", 1))
    redis.call("HSET", key, text(n + 3), where .. "|" .. text(n + 5))
    redis.call("ZADD", key_at(n), 0, where .. "|" .. text(n + 3))
    redis.call("SADD", key_at(n + 1), text(n + 2))
end
ops["unuse"] = function(key, n)
    local old = redis.call("HGET", key, text(n + 1))
    if old and old:sub(38) == id then
        redis.call("HDEL", key, text(n + 1))
        redis.call("ZREM", key_at(n), old:sub(1, 37) .. text(n + 1))
    end
end

-- What ends with a thread.
ops["hdelif"] = function(key, n)
    if redis.call("HGET", key, text(n)) == text(n + 1) then
        redis.call("HDEL", key, text(n))
    end
end
ops["floor"] = function(key, n)
    local least = redis.call("HMGET", key, "revision", "fence")
    local revisions = math.max(tonumber(least[1] or 0), revision - 1)
    local fences = math.max(tonumber(least[2] or 0), fence)
    redis.call("HSET", key, "revision", string.format("%.0f", revisions),
        "fence", string.format("%.0f", fences))
end

-- Where a thread stands among those that need the server.
ops["due"] = function(key, n)
    local old = redis.call("HMGET", key, "due_arm", "due")
    if old[1] and old[1] ~= "" then
        redis.call("ZREM", arms[old[1]], old[2])
    end
    local arm, since = text(n), text(n + 1)
    if arm == "" then
        redis.call("HDEL", key, "due_arm", "due")
        return
    end
    if since == "" then
        since = lasts
    end
    local member = moment(tonumber(since)) .. "." .. number .. "|" .. text(n + 2) .. "|" .. id
    redis.call("ZADD", arms[arm], 0, member)
    redis.call("HSET", key, "due_arm", arm, "due", member)
end

while at <= #ARGV do
    local name, key, count = ARGV[at], KEYS[tonumber(ARGV[at + 1])], tonumber(ARGV[at + 2])
    if ops[name] then
        ops[name](key, at + 3)
    else
        redis.call(name, key, unpack(ARGV, at + 3, at + 2 + count))
    end
    at = at + 3 + count
end

if mode == "gone" then
    grown = -tonumber(found[7] or 0)
else
    redis.call("HINCRBY", thread, "size", string.format("%.0f", grown))
end
local owner = found[6] or redis.call("HGET", thread, "owner")
for _, field in ipairs({ #owner .. ":" .. owner, "all" }) do
    if redis.call("HINCRBY", KEYS[10], field, string.format("%.0f", grown)) == 0 then
        redis.call("HDEL", KEYS[10], field)
    end
end

local told = string.format("done %.0f %.0f %.0f %d %s", revision, fence, base,
    found[5] and 1 or 0, lasts)
redis.call("SET", KEYS[1], told, "PX", 30000)
if mode ~= "gone" and mode ~= "noted" then -- a holder may have to find its own step there
    redis.call("HSET", thread, "step", KEYS[1] .. " " .. told)
end
return told
