-- All that is done to a Redisson semaphore, after what has come back by itself.
-- KEYS: N how many permits are free, Z whose the others are and until when (zset, ms since 1970), for what must not be
-- done twice also O where its result is kept for a while
-- ARGV: verb, the semaphore's channel, '1' if a member of Z ends in '|' and how many permits it stands for (else one),
-- PUBLISH or SPUBLISH, how long the result is kept in ms, then
--   take: lease in ms, permits if there is no number yet (or ''), members
--                                    0 taken, now or by an earlier send; else {ms until some come back (-1: nobody knows), ''}
--   give: members                    -1 none was there, else how many listeners were told
--   disown: members                  1, or 0 none was there; they come back no more
--   set: permits                     1, or 0 if there is a number already
--   add: permits                     how many are free now
--   drain                            how many were free
--   read                             how many are free
-- Returns what stands behind the verb; 'kind' when N holds no count (a whole number, at most 2^53), 'much' when it would hold
-- none after an add.
-- Also made: semaphore_evicting, by evicting.lua.in.
local N, Z, O = KEYS[1], KEYS[2], KEYS[3]
local verb, channel, weighted, call = ARGV[1], ARGV[2], ARGV[3] == '1', redis.call
-- Lua counts in doubles, which are exact up to here.
local function is_count(text)
  local n = tonumber(text)
  return n and n >= -2^53 and n <= 2^53 and string.format('%.0f', n) == text
end
local done = O and call('GET', O)
if done then return is_count(done) and tonumber(done) or 'kind' end
local free = call('GET', N)
if free and not is_count(free) then return 'kind' end
if verb == 'add' then
  local count, by = tonumber(free or 0), tonumber(ARGV[6])
  if count > 2^53 - by or count < -2^53 - by then return 'much' end
end
local time = call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local grew = false

-- A command that is refused (ACL) behind another that was not: what that has done is undone, and the refusal is the result.
-- (Servers before Redis 7 cannot tell a client of an error that is raised as a table.)
local refused
local function or_undo(undo, ...)
  local said = redis.pcall(...)
  if type(said) ~= 'table' or not said.err then return said end
  if not refused then undo() end
  refused = refused or said
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
  free = or_undo(undo, 'INCRBY', N, permits) or free
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
if refused then return refused end
local result, changed
if verb == 'take' then
  if not free and ARGV[7] ~= '' then set(ARGV[7]) end
  local missing, mine = 0, members(8)
  for _, member in ipairs(mine) do
    if not call('ZSCORE', Z, member) then missing = missing + weight(member) end
  end
  if missing == 0 or free and tonumber(free) >= missing then
    if missing > 0 then free = call('DECRBY', N, missing) end
    local function undo()
      if missing > 0 then redis.pcall('INCRBY', N, missing) end
    end
    for _, member in ipairs(mine) do or_undo(undo, 'ZADD', Z, 'GT', now + ARGV[6], member) end
    if refused then return refused end
    local ttl = call('PTTL', N)
    if ttl > 0 then call('PEXPIRE', Z, ttl) end
    result = 0
  else
    local first = tonumber(call('ZRANGE', Z, 0, 0, 'WITHSCORES')[2] or nil)
    -- This score is Redisson's "never".
    result = {first and first < 922337203685477 and math.max(first - now, 0) or -1, ''}
  end
elseif verb == 'give' then
  changed = come_back(members(6)) > 0
  result = changed and 0 or -1
elseif verb == 'disown' then
  changed = remove(members(6)) > 0
  result = changed and 1 or 0
elseif verb == 'set' then
  changed = not free
  result = free and 0 or 1
  if not free then set(ARGV[6]) end
elseif verb == 'add' then
  -- Changes nothing: after a write that needs no memory Redis refuses none that does, and permits must come back.
  call('DEL', O)
  begin()
  add(tonumber(ARGV[6]), function() end)
  changed, result = true, free
else
  result = tonumber(free or 0)
  changed = verb == 'drain' and result ~= 0
  if changed then
    call('SET', N, 0, 'KEEPTTL')
    free = 0
  end
end
if refused then return refused end
-- The answer is kept also where there was nothing to do: an earlier send that arrives later must not find something.
if O and not changed and (verb == 'set' or verb == 'drain') then
  call('DEL', O)  -- needs no memory, and then the next write is not refused for want of it
  changed = true
end
if O and changed then call('SET', O, result, 'PX', ARGV[5]) end
if grew and tonumber(free) > 0 then
  local told = redis.pcall(ARGV[4], channel, free)
  if verb == 'give' and changed and type(told) == 'number' then result = told end
end
return result
