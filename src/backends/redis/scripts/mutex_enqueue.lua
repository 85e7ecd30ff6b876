-- Takes a mutex or enters its queue, in one step that may be repeated.
-- KEYS: N the lock, Q its queue (zset, member = token, score = arrival in server microseconds)
-- ARGV: token, lease in ms, hand-off lease in ms, wake channel prefix, queue TTL in ms, PUBLISH or SPUBLISH
-- Returns 1 when the lock is the token's; else {score, PTTL of N, holder, place}, where place counts from 1
-- if the holder is a foreign client (which wakes no waiter, so the first must poll), and is 0 otherwise.
local N, Q, me, call = KEYS[1], KEYS[2], ARGV[1], redis.call
local v = call('GET', N)
if v == me then
  if call('PTTL', N) < tonumber(ARGV[2]) then call('PEXPIRE', N, ARGV[2]) end
  return 1
end
while not v do
  -- Free: it goes to the head of the queue, unless no client listens to the head's channel.
  local head = call('ZPOPMIN', Q)
  local w = head[1]
  local heard = w and w ~= me and
    redis.pcall(ARGV[6], ARGV[4] .. string.sub(w, 1, 22), w .. ' ' .. head[2] .. ' ' .. N)
  if type(heard) ~= 'number' then
    -- No waiter, or our turn, or no right to publish: then the head keeps its place and polls.
    if heard then call('ZADD', Q, head[2], w) end
    call('SET', N, me, 'PX', ARGV[2])
    return 1
  end
  if heard > 0 then
    call('SET', N, w, 'PX', ARGV[3])
    v = w
  end
end
local t = call('TIME')
local score = string.format('%.0f', t[1] * 1000000 + t[2])
if call('ZADD', Q, 'NX', score, me) == 0 then score = call('ZSCORE', Q, me) end
call('PEXPIRE', Q, ARGV[5])
local place = string.byte(v, 23) == 124 and 0 or call('ZRANK', Q, me) + 1
return {score, call('PTTL', N), v, place}
