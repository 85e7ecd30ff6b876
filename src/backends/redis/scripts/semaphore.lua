-- All that is done to a Redisson semaphore, after what has come back by itself.
-- KEYS: N how many permits are free, Z whose the others are and until when (zset, ms since 1970), for what must not be
-- done twice also O where its result is kept for a while
-- ARGV: verb, the semaphore's channel, '1' if a member of Z ends in '|' and how many permits it stands for (else one)
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

local function weight(member) return weighted and tonumber(string.match(member, '|(%d+)$')) or 1 end
local function remove(members)
  local permits = 0
  for _, member in ipairs(members) do
    if call('ZREM', Z, member) == 1 then permits = permits + weight(member) end
  end
  return permits
end
local function add(permits)
  free = call('INCRBY', N, permits)
  grew = grew or permits > 0
end
local function come_back(members)
  local permits = remove(members)
  -- The permits of a semaphore that was deleted are gone with it.
  if permits > 0 and free then add(permits) end
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
  if not free and ARGV[5] ~= '' then set(ARGV[5]) end
  local missing, mine = 0, members(6)
  for _, member in ipairs(mine) do
    if not call('ZSCORE', Z, member) then missing = missing + weight(member) end
  end
  if missing == 0 or free and tonumber(free) >= missing then
    if missing > 0 then free = call('DECRBY', N, missing) end
    for _, member in ipairs(mine) do call('ZADD', Z, 'GT', now + ARGV[4], member) end
    local ttl = call('PTTL', N)
    if ttl > 0 then call('PEXPIRE', Z, ttl) end
    result = 0
  else
    local first = tonumber(call('ZRANGE', Z, 0, 0, 'WITHSCORES')[2] or nil)
    -- This score is Redisson's "never".
    result = {first and first < 922337203685477 and math.max(first - now, 0) or -1, ''}
  end
elseif verb == 'give' then
  changed = come_back(#ARGV > 3 and members(4) or call('ZRANGE', Z, 0, -1)) > 0
  result = changed and 0 or -1
elseif verb == 'disown' then
  changed = remove(members(4)) > 0
  result = changed and 1 or 0
elseif verb == 'set' then
  changed = not free
  result = free and 0 or 1
  if not free then set(ARGV[4]) end
elseif verb == 'add' then
  begin()
  add(tonumber(ARGV[4]))
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
  local told = redis.pcall('PUBLISH', channel, free)
  if verb == 'give' and changed and type(told) == 'number' then result = told end
end
return result
