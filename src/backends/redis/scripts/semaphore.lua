-- All that is done to a Redisson semaphore, after what has come back by itself.
-- KEYS: N how many permits are free, Z whose the others are and until when (zset, ms since 1970), for what must not be
-- done twice also O where its result is kept for a while
-- ARGV: verb, the semaphore's channel, '1' if a member of Z ends in '|' and how many permits it stands for (else one),
-- PUBLISH or SPUBLISH, then
--   take: lease in ms, permits if there is no number yet (or ''), members
--                                    0 taken, now or by an earlier send; else {ms until some come back (-1: nobody knows), ''}
--   give: members, none: all         -1 none was there, else how many listeners were told
--   disown: members                  1, or 0 none was there; they come back no more
--   set: permits                     1, or 0 if there is a number already
--   add: permits                     how many are free now
--   drain                            how many were free
--   read                             how many are free
-- Returns what stands behind the verb; 'kind' when N holds no number.
local N, Z, O = KEYS[1], KEYS[2], KEYS[3]
local verb, channel, weighted, call = ARGV[1], ARGV[2], ARGV[3] == '1', redis.call
local done = O and call('GET', O)
if done then return tonumber(done) end
local free = call('GET', N)
if free and (not string.find(free, '^%-?%d+$') or #free > 17) then return 'kind' end
local time = call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local grew = false

-- A command that is refused (ACL) behind another that was not: what that has done is undone.
local function undone_by(undo)
  return function(...)
    local said = redis.pcall(...)
    if type(said) == 'table' and said.err then
      undo()
      error(said)
    end
    return said
  end
end
local function weight(member) return weighted and tonumber(string.match(member, '|(%d+)$')) or 1 end
-- Returns how many permits they had, and until when each.
local function remove(members)
  -- First looked at, then removed: with the last of them Z is gone, and in a cluster whose slot moves a script that speaks
  -- of a key that is gone ends there and then.
  local there, permits = {}, 0
  for _, member in ipairs(members) do there[member] = call('ZSCORE', Z, member) or nil end
  for member in pairs(there) do
    call('ZREM', Z, member)
    permits = permits + weight(member)
  end
  return permits, there
end
local function add(permits, undo)
  local careful_call = undone_by(undo)
  free = careful_call('INCRBY', N, permits)
  grew = grew or permits > 0
end
local function come_back(members)
  local permits, there = remove(members)
  -- The permits of a semaphore that was deleted are gone with it.
  if permits > 0 and free then
    add(permits, function()
      for member, score in pairs(there) do redis.pcall('ZADD', Z, score, member) end
    end)
  end
  return permits
end
-- Permits that are out of one that was there before are none of this one's.
local function begin() if not free then call('DEL', Z) end end
local function set(permits)
  begin()
  call('SET', N, permits)
  free, grew = permits, true
end
local function members(from) return {unpack(ARGV, from)} end

come_back(call('ZRANGEBYSCORE', Z, 0, now, 'LIMIT', 0, 1000))
local result, changed
if verb == 'take' then
  if not free and ARGV[6] ~= '' then set(ARGV[6]) end
  local missing, mine = 0, members(7)
  for _, member in ipairs(mine) do
    if not call('ZSCORE', Z, member) then missing = missing + weight(member) end
  end
  if missing == 0 or free and tonumber(free) >= missing then
    if missing > 0 then free = call('DECRBY', N, missing) end
    local careful_call = undone_by(function()
      if missing > 0 then redis.pcall('INCRBY', N, missing) end
    end)
    for _, member in ipairs(mine) do careful_call('ZADD', Z, 'GT', now + ARGV[5], member) end
    local ttl = call('PTTL', N)
    if ttl > 0 then call('PEXPIRE', Z, ttl) end
    result = 0
  else
    local first = tonumber(call('ZRANGE', Z, 0, 0, 'WITHSCORES')[2] or nil)
    -- This score is Redisson's "never".
    result = {first and first < 922337203685477 and math.max(first - now, 0) or -1, ''}
  end
elseif verb == 'give' then
  changed = come_back(#ARGV > 4 and members(5) or call('ZRANGE', Z, 0, -1)) > 0
  result = changed and 0 or -1
elseif verb == 'disown' then
  changed = remove(members(5)) > 0
  result = changed and 1 or 0
elseif verb == 'set' then
  changed = not free
  result = free and 0 or 1
  if not free then set(ARGV[5]) end
elseif verb == 'add' then
  begin()
  add(tonumber(ARGV[5]), function() end)
  changed, result = true, free
else
  result = tonumber(free or 0)
  changed = verb == 'drain' and result ~= 0
  if changed then
    call('SET', N, 0, 'KEEPTTL')
    free = 0
  end
end
if O and changed then call('SET', O, result, 'PX', 10000) end
if grew and tonumber(free) > 0 then
  local told = redis.pcall(ARGV[4], channel, free)
  if verb == 'give' and changed and type(told) == 'number' then result = told end
end
return result
