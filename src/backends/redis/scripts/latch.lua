-- All operations on a Redisson RCountDownLatch, except waiting.
-- KEYS: N the count, O keeps the result, so that a resend does nothing
-- ARGV: verb, channel, amount, PUBLISH or SPUBLISH, how long the result is kept in ms
--   set: count     1, or 0 if there is a count already
--   down: by       the rest
--   read           the count
--   erase          1, or 0 if there was none
-- Returns what follows the verb; 'kind': N holds no count, a whole number of at most 2^53.
local N, O, channel, call = KEYS[1], KEYS[2], ARGV[2], redis.call
-- Lua counts in doubles, which are exact up to here.
local function is_count(text)
  local n = tonumber(text)
  return n and n >= -2^53 and n <= 2^53 and string.format('%.0f', n) == text
end
local done = call('GET', O)
if done then return is_count(done) and tonumber(done) or 'kind' end
local count = call('GET', N)
if count and not is_count(count) then return 'kind' end
local verb, left = ARGV[1], tonumber(count or 0)
if verb == 'read' then return left end
-- A count of 0, which Java may set, is none.
local nothing_to_do = (verb == 'set') == (left > 0)

-- The write, the message and the result. Redisson's clients continue at '0' only, so an erased latch sends it,
-- too.
local result, message, write = 1, '0', {'DEL', N}
if nothing_to_do then
  result, message, write = 0, nil, nil
elseif verb == 'set' then
  message, write = '1', {'SET', N, ARGV[3]}
elseif verb == 'down' and left > tonumber(ARGV[3]) then
  result, message, write = left - tonumber(ARGV[3]), nil, {'DECRBY', N, ARGV[3]}
elseif verb == 'down' then
  result = 0
end
-- Changes nothing: after a write that needs no memory Redis refuses none that does. To set a count needs some.
if verb ~= 'set' or nothing_to_do then call('DEL', O) end
-- The result is kept first: if that is refused (ACL), nothing has been counted. Also if there is nothing to do: an earlier
-- send that arrives later must do nothing.
call('SET', O, result, 'PX', ARGV[5])
local reply = write and redis.pcall(unpack(write))
if type(reply) == 'table' and reply.err then
  redis.pcall('DEL', O)
  return reply
end
if message then redis.pcall(ARGV[4], channel, message) end
return result
