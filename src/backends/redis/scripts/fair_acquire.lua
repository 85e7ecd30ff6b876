-- Takes a free Redisson RFairLock if it is the owner's turn; otherwise may add the owner to its queue.
-- KEYS: N the lock (hash), Q its queue (list of owners), T their time limits (zset, ms since 1970)
-- ARGV: owner, lease in ms, '1' to queue, the channel of an owner without the owner, liveness in ms, D: since when an owner
-- in the queue is absent (hash of ours; no key of the call: there may be no right to it), PUBLISH or SPUBLISH
-- Returns 0: taken, 'kind': N is another hash, else {ms until the next attempt makes sense (-1: unknown), holder or head}.
--
-- An owner is absent if no client of the server listens for it, or if it is one of ours, has its turn and does not ask. An
-- owner that is absent for `liveness` is dead, whatever its limit. A limit is an upper bound: after it an owner without a
-- listener is dead.
--
-- Redisson's clients set their limit once: the limit of the owner before them, plus a wait of their own. They subtract that
-- wait from all later limits when they enter or leave. So an owner adds the difference to the limit before it, and this must
-- not change: a script of ours that moves or removes a limit moves all later limits by as much. Otherwise a rest stays in
-- the later limits for good, and a dead owner of Java's keeps Java out for hours.
local N, Q, T, D = KEYS[1], KEYS[2], KEYS[3], ARGV[6]
local me, lease, channel, liveness, publish = ARGV[1], ARGV[2], ARGV[4], tonumber(ARGV[5]), ARGV[7]
local call, pcall = redis.call, redis.pcall
local foreign_wait = 300000
local look_gap = 100

local holders = call('HRANDFIELD', N, 8)
if #holders > 0 and call('HEXISTS', N, me) == 1 then
  if call('PTTL', N) < tonumber(lease) then call('PEXPIRE', N, lease) end
  return 0
end
for _, field in ipairs(holders) do
  if not string.find(field, ':%-?%d+$') then return 'kind' end
end

call('ZSCORE', T, me)  -- limits of another type are refused before anything is written
local time = call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local function listened_for(owner)
  local seen = pcall('PUBSUB', publish == 'PUBLISH' and 'NUMSUB' or 'SHARDNUMSUB', channel .. owner)
  return not seen[2] or seen[2] > 0
end
-- An owner of ours ends in a serial of microseconds: ':' and 16 digits.
local function is_ours(owner) return string.byte(owner, -17) == 58 and string.byte(owner, -16) ~= 45 end
local function prolonged(owner) return owner .. ' prolonged' end
local function limit_of(owner) return tonumber(call('ZSCORE', T, owner) or nil) end
local function shift(owners, by)
  for _, owner in ipairs(owners) do call('ZADD', T, 'XX', 'INCR', by, owner) end
end
local too_long = 0  -- what dead owners, passed over before their limits, have left in the limits behind them
local function will_not_come(head)
  local absent = tonumber(pcall('HGET', D, head) or nil)
  if absent and absent + liveness <= now and (is_ours(head) or not listened_for(head)) then return true end
  local limit = limit_of(head)
  return limit and limit - too_long <= now and (not listened_for(head) or pcall('HEXISTS', D, prolonged(head)) == 1)
end
-- The head has its turn and has not come yet. The time of all absent owners starts at once.
local function look_along_the_line()
  local looked = pcall('HGET', D, 'looked')
  if type(looked) == 'table' or (tonumber(looked or nil) or 0) + look_gap > now then return end
  pcall('HSET', D, 'looked', now)
  local more = 0  -- for clients of Java's behind one that was given more time; ours behind it have the reserve of `needed`
  for i, owner in ipairs(call('LRANGE', Q, 0, 499)) do
    local listens = listened_for(owner)
    if listens and not (i == 1 and is_ours(owner)) then
      pcall('HDEL', D, owner)
    else
      pcall('HSETNX', D, owner, now)
    end
    if is_ours(owner) then
      more = 0
    else
      local limit = limit_of(owner)
      -- It listens, so it may exceed its limit: once.
      if listens and limit and limit + more <= now and pcall('HSETNX', D, prolonged(owner), 1) == 1 then
        more = now + foreign_wait - limit
      end
      if more > 0 then call('ZADD', T, 'XX', 'INCR', more, owner) end
    end
  end
  pcall('PEXPIRE', D, liveness + 1000)
end

local head = call('LINDEX', Q, 0)
if #holders == 0 then
  if head then pcall('HDEL', D, me) end
  while head and head ~= me and will_not_come(head) do
    local limit, follower = limit_of(head), call('LINDEX', Q, 1)
    too_long = limit and math.max(limit - now, 0) or too_long
    call('LPOP', Q)
    call('ZREM', T, head)
    head = follower
    -- The release notified a dead owner; a client of Java's would sleep until the TTL that it saw is over.
    if head and head ~= me then pcall(publish, channel .. head, '0') end
  end
  if not head or head == me then
    -- Written first, so that the rest passes without memory: it was promised. A newcomer needs some.
    if head then
      local limit, behind = limit_of(me), call('LRANGE', Q, 1, -1)
      call('LPOP', Q)
      call('ZREM', T, me)
      pcall('DEL', D)
      shift(behind, limit and now - limit or -too_long)
    end
    call('HSET', N, me, 1)
    local expires = redis.pcall('PEXPIRE', N, lease)
    if type(expires) == 'table' then call('DEL', N) return expires end  -- refused: the key would stay for ever
    return 0
  end
  if too_long > 0 then shift(call('LRANGE', Q, 0, -1), -too_long) end
  look_along_the_line()
end

-- The limit that an owner of ours needs at a place, so that a client of Java's does not take it for dead when all before it
-- have entered (what the head subtracts then is unknown); and the first place from which limits of ours are too low.
local function needed(place)
  local from = math.max(0, place - 30)
  local before = place > 0 and call('LRANGE', Q, from, place - 1) or {}
  local need, previous, low = now, nil, place
  for i, owner in ipairs(before) do
    local limit = limit_of(owner)
    local adds = is_ours(owner) and liveness or previous and limit and limit - previous or foreign_wait
    need = need + math.min(math.max(adds, 0), foreign_wait)
    if i == 1 and from > 0 and limit then need = math.max(need, limit) end
    local lacks = low == place and is_ours(owner) and limit and limit < need - liveness / 4
    if lacks and listened_for(owner) then low = from + i - 1 end
    previous = limit
  end
  return math.max(need, previous or 0) + liveness, low
end

local ttl = call('PTTL', N)
local place = call('LPOS', Q, me)
if ARGV[3] == '1' then
  place = place or call('RPUSH', Q, me) - 1
  local limit = limit_of(me)
  if not limit then
    limit = liveness + (place > 0 and limit_of(call('LINDEX', Q, place - 1)) or now)
    call('ZADD', T, limit, me)
  end
  local need, low = needed(place)
  if limit < need - liveness / 4 then
    shift(call('LRANGE', Q, low, -1), need - limit)
  elseif limit > need + liveness then
    shift(call('LRANGE', Q, place, -1), need - limit)
  end
end
if #holders > 0 then return {ttl, holders[1]} end
-- The next few watch the head, and the next one is notified. Others would only keep the server busy.
return {(place or 0) <= 3 and look_gap or -1, head}
