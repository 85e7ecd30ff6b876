-- All that is done to a Redisson RCountDownLatch, but for waiting.
-- KEYS: N the count, O where the result is kept for a while: nothing is to be done twice       ARGV: verb, channel, amount
--   set: count     1, or 0 if there is a count already
--   down: by       what is left
--   read           what is left
--   erase          1, or 0 if there was none
-- Returns what stands behind the verb; 'kind' when N holds no number.
local N, O, channel, call = KEYS[1], KEYS[2], ARGV[2], redis.call
local done = call('GET', O)
if done then return tonumber(done) end
local count = call('GET', N)
if count and not string.find(count, '^%-?%d+$') then return 'kind' end
local left, result, message = tonumber(count or 0)
if ARGV[1] == 'read' then return left end
if ARGV[1] == 'set' then
  result = count and 0 or 1
  if not count then
    call('SET', N, ARGV[3])
    message = '1'
  end
elseif ARGV[1] == 'down' then
  result = math.max(left - ARGV[3], 0)
  if result > 0 then
    call('DECRBY', N, ARGV[3])
  elseif count then
    call('DEL', N)
    message = '0'
  end
else
  result = call('DEL', N)
  message = result == 1 and '1'
end
call('SET', O, result, 'PX', 10000)
if message then redis.pcall('PUBLISH', channel, message) end
return result
