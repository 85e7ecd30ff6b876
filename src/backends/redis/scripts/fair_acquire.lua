-- Takes a Redisson RFairLock if it is free and the owner's turn; else may put the owner into its line.
-- KEYS: N the lock (hash), Q its line (list of owners), T their time limits (zset, ms since 1970), D since when someone in
-- line is not listened for (hash, only ours)
-- ARGV: owner, lease in ms, '1' to stand in line, the channel of an owner without the owner, liveness in ms
-- Returns 0 taken, 'kind' when N is some other hash, else {PTTL of N (-2: free, and another's turn), holder or head}.
--
-- A limit is an upper bound: behind it whoever waits is taken for dead. Redisson's clients never move theirs on, count
-- 300 s for each owner before them and take off as much when it enters; ours are renewed by each question. Whom no
-- client of the server has listened for in the last `liveness` is dead, whatever its limit. The limit stays as it is: a
-- client of Java's asks first and listens then, and with a shorter limit others of Java's would throw it out later.
local N, Q, T, D = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local me, lease, channel, liveness = ARGV[1], ARGV[2], ARGV[4], tonumber(ARGV[5])
local call = redis.call
local foreign_wait = 300000

local holders = call('HKEYS', N)
if #holders > 0 and call('HEXISTS', N, me) == 1 then
  if call('PTTL', N) < tonumber(lease) then call('PEXPIRE', N, lease) end
  return 0
end
for _, field in ipairs(holders) do
  if not string.find(field, ':%-?%d+$') then return 'kind' end
end

local time = call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local function listened_for(owner)
  local seen = redis.pcall('PUBSUB', 'NUMSUB', channel .. owner)
  return not seen[2] or seen[2] > 0
end

local head = call('LINDEX', Q, 0)
if #holders == 0 then
  while head and head ~= me do
    local limit = tonumber(call('ZSCORE', T, head) or nil)
    local unheard = tonumber(redis.pcall('HGET', D, head) or nil)
    if (limit and limit <= now or unheard and unheard + liveness <= now) and not listened_for(head) then
      call('LPOP', Q)
      call('ZREM', T, head)
      head = call('LINDEX', Q, 0)
      -- The release told one who was dead; a client of Java's would sleep until the TTL that it saw is over.
      if head and head ~= me then redis.pcall('PUBLISH', channel .. head, '0') end
    else
      break
    end
  end
  if not head or head == me then
    -- Written first, these let the rest pass where memory is short: it was promised. A newcomer needs some.
    if head then
      call('LPOP', Q)
      call('ZREM', T, me)
      redis.pcall('DEL', D)
    end
    for _, other in ipairs(call('ZRANGE', T, 0, -1)) do call('ZINCRBY', T, -liveness, other) end
    call('HSET', N, me, 1)
    call('PEXPIRE', N, lease)
    return 0
  end
  -- It is somebody's turn who has not come yet. All who will not come are given their time at once.
  for _, owner in ipairs(call('LRANGE', Q, 0, 63)) do
    if not listened_for(owner) then
      redis.pcall('HSETNX', D, owner, now)
    else
      redis.pcall('HDEL', D, owner)
      if tonumber(call('ZSCORE', T, owner) or 0) <= now then call('ZADD', T, now + foreign_wait, owner) end
    end
  end
  -- While it is another's turn everybody asks more often than that.
  redis.pcall('PEXPIRE', D, liveness + 1000)
end

local ttl = call('PTTL', N)
if ARGV[3] == '1' then
  local limit = now + math.max(ttl, 0) + liveness
  local place = call('LPOS', Q, me)
  if not place then place = call('RPUSH', Q, me) - 1 end
  if place > 0 then
    -- Whoever is before us takes its wait off our limit when it enters, so that is added. Foreign is who has no
    -- serial of microseconds.
    local before = call('LINDEX', Q, place - 1)
    local wait = string.find(before, ':%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d$') and liveness or foreign_wait
    limit = math.max(limit, tonumber(call('ZSCORE', T, before) or 0) + wait, now + liveness + wait)
  end
  call('ZADD', T, limit, me)
end
return {ttl, holders[1] or head}
