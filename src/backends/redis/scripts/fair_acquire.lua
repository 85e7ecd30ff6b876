-- Takes a Redisson RFairLock if it is free and the owner's turn; else may put the owner into its line.
-- KEYS: N the lock (hash), Q its line (list of owners), T their time limits (zset, ms since 1970)
-- ARGV: owner, lease in ms, '1' to stand in line, the channel of an owner without the owner, liveness in ms, D: since when
-- someone in line is absent (hash, only ours; no key of the call, since there may be no right to it), PUBLISH or SPUBLISH
-- Returns 0 taken, 'kind' when N is some other hash, else {ms until it is worth asking again (-1: unknown), holder or head}.
--
-- Absent is: for whom no client of the server listens; and one of ours whose turn it is and who does not ask. Who is
-- absent for `liveness` is dead, whatever its limit. A limit is an upper bound: who does not listen behind it is dead.
-- Redisson's clients never move theirs on, count 300 s for each owner before them and take off as much when it enters; ours
-- are renewed by each question. The limit of one who is absent stays as it is: a client of Java's asks first and listens
-- then, and with a shorter limit others of Java's would throw it out later.
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

local time = call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local function listened_for(owner)
  local seen = pcall('PUBSUB', publish == 'PUBLISH' and 'NUMSUB' or 'SHARDNUMSUB', channel .. owner)
  return not seen[2] or seen[2] > 0
end
-- Foreign is who has no serial of microseconds.
local function is_ours(owner) return string.find(owner, ':%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d$') end
local function prolonged(owner) return owner .. ' prolonged' end
local function will_not_come(head)
  local absent = tonumber(pcall('HGET', D, head) or nil)
  if absent and absent + liveness <= now and (is_ours(head) or not listened_for(head)) then return true end
  local limit = tonumber(call('ZSCORE', T, head) or nil)
  return limit and limit <= now and (not listened_for(head) or pcall('HEXISTS', D, prolonged(head)) == 1)
end
-- It is somebody's turn who has not come yet. All who are absent are given their time at once.
local function look_along_the_line()
  local looked = pcall('HGET', D, 'looked')
  if type(looked) == 'table' or (tonumber(looked or nil) or 0) + look_gap > now then return end
  pcall('HSET', D, 'looked', now)
  for i, owner in ipairs(call('LRANGE', Q, 0, 499)) do
    if not listened_for(owner) or i == 1 and is_ours(owner) then
      pcall('HSETNX', D, owner, now)
    else
      pcall('HDEL', D, owner)
      -- It listens, so it may go on for longer than its limit: once.
      if not is_ours(owner) and tonumber(call('ZSCORE', T, owner) or 0) <= now and pcall('HSETNX', D, prolonged(owner), 1) == 1 then
        call('ZADD', T, now + foreign_wait, owner)
      end
    end
  end
  pcall('PEXPIRE', D, liveness + 1000)
end

local head = call('LINDEX', Q, 0)
if #holders == 0 then
  if head then pcall('HDEL', D, me) end
  while head and head ~= me and will_not_come(head) do
    call('LPOP', Q)
    call('ZREM', T, head)
    head = call('LINDEX', Q, 0)
    -- The release told one who was dead; a client of Java's would sleep until the TTL that it saw is over.
    if head and head ~= me then pcall(publish, channel .. head, '0') end
  end
  if not head or head == me then
    -- Written first, these let the rest pass where memory is short: it was promised. A newcomer needs some.
    if head then
      call('LPOP', Q)
      call('ZREM', T, me)
      pcall('DEL', D)
    end
    for _, other in ipairs(call('ZRANGE', T, 0, -1)) do call('ZINCRBY', T, -liveness, other) end
    call('HSET', N, me, 1)
    local expires = redis.pcall('PEXPIRE', N, lease)
    if type(expires) == 'table' then call('DEL', N) return expires end  -- refused: the key would stay for ever
    return 0
  end
  look_along_the_line()
end

local ttl = call('PTTL', N)
local place = call('LPOS', Q, me)
if ARGV[3] == '1' then
  local limit = now + math.max(ttl, 0) + liveness
  if not place then place = call('RPUSH', Q, me) - 1 end
  if place > 0 then
    -- Whoever is before us takes its wait off our limit when it enters, so that is added.
    local before = call('LINDEX', Q, place - 1)
    local wait = is_ours(before) and liveness or foreign_wait
    limit = math.max(limit, tonumber(call('ZSCORE', T, before) or 0) + wait, now + liveness + wait)
  end
  call('ZADD', T, limit, me)
end
if #holders > 0 then return {ttl, holders[1]} end
-- The next few watch the head, and whoever is next is told. Those behind them would only keep the server busy.
return {(place or 0) <= 3 and look_gap or -1, head}
