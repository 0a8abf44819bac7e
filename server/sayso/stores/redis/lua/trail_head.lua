-- The beginning of each script that adds rows to an audit trail by hand: `erase`, `forget`, `note`.
--
-- KEYS: 1 the step's own key, 2 the rows, 3 their contents, 4 all rows of the scope, 5 the scope's
-- counters. ARGV: 1 the number of the newest row. Gives what the step has come to, if it was done
-- before, or "changed" (there are newer rows).

local known = redis.call("GET", KEYS[1])
if known then
    return known
end
local newest = redis.call("XREVRANGE", KEYS[2], "+", "-", "COUNT", 1)[1]
if (newest and newest[1] or "0-0") ~= ARGV[1] .. "-0" then
    return "changed"
end

-- Adds a row: its number, its content, itself, and what the scope lists.
local function add(number, content, row, listed)
    redis.call("XADD", KEYS[2], number .. "-0", "r", row)
    redis.call("HSETNX", KEYS[3], number, content)
    local count = redis.call("HINCRBY", KEYS[5], "ledger", 1)
    redis.call("XADD", KEYS[4], string.format("%.0f-0", count), "r", listed)
end

-- Keeps that the step was done.
local function done()
    redis.call("SET", KEYS[1], "done", "PX", 30000)
    return "done"
end
