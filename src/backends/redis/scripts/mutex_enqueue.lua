-- Asks for a mutex and stands in line: poll and enqueue in one step that may be repeated.
-- KEYS: N the lock, Q its queue (zset, member = token, score = arrival in server microseconds)
-- ARGV: token, lease in ms, handed-over lease in ms, wake channel prefix, queue TTL in ms, PUBLISH or SPUBLISH
-- Returns 1 when the lock is the token's; else {score, PTTL of N, holder, place}, where place counts from 1
-- when the holder is a foreign client (which sends no wake, so the first in line must poll), and is 0 otherwise.
local N, Q, me, call = KEYS[1], KEYS[2], ARGV[1], redis.call
local v = call('GET', N)
if v == me then
  if call('PTTL', N) < tonumber(ARGV[2]) then call('PEXPIRE', N, ARGV[2]) end
  return 1
end
while not v do
  -- Free: it belongs to the head of the line, unless nobody hears the head's channel any more.
  local head = call('ZPOPMIN', Q)
  local w = head[1]
  local heard = w and w ~= me and
    redis.pcall(ARGV[6], ARGV[4] .. string.sub(w, 1, 22), w .. ' ' .. head[2] .. ' ' .. N)
  if type(heard) ~= 'number' then
    -- Nobody waits, or it is our turn, or we may not publish: then the head keeps its place and polls.
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
