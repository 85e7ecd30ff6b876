-- All that is done to a Redisson RCountDownLatch, but for waiting.
-- KEYS: N the count, O where the result is kept for a while: nothing is to be done twice       ARGV: verb, channel, amount,
-- PUBLISH or SPUBLISH
--   set: count     1, or 0 if there is a count already
--   down: by       what is left
--   read           what is left
--   erase          1, or 0 if there was none
-- Returns what stands behind the verb; 'kind' when N holds no number.
local N, O, channel, call = KEYS[1], KEYS[2], ARGV[2], redis.call
local done = call('GET', O)
if done then return tonumber(done) end
local count = call('GET', N)
if count and (not string.find(count, '^%-?%d+$') or #count > 17) then return 'kind' end
local verb, left = ARGV[1], tonumber(count or 0)
if verb == 'read' then return left end
-- What changes nothing is not kept. A count of 0, which Java may set, is none.
if (verb == 'set') == (left > 0) then return 0 end

-- Redisson's clients go on at '0' and at nothing else, so that is said of an erased latch too.
local result, message = 1, '0'
if verb == 'set' then
  call('SET', N, ARGV[3])
  message = '1'
elseif verb == 'down' and left > tonumber(ARGV[3]) then
  result, message = call('DECRBY', N, ARGV[3]), nil
else
  call('DEL', N)
  if verb == 'down' then result = 0 end
end
call('SET', O, result, 'PX', 10000)
if message then redis.pcall(ARGV[4], channel, message) end
return result
