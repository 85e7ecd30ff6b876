-- All operations on a Redisson semaphore, after the return of expired permits.
-- KEYS: N the number of free permits, Z the owners of the others and their expiry (zset, ms since 1970), for what must
-- not be done twice also O, which keeps its result
-- ARGV: verb, the semaphore's channel, '1' if a member of Z ends in '|' and its number of permits (else one),
-- PUBLISH or SPUBLISH, how long the result is kept in ms, then
--   take: lease in ms, permits if there is no number yet (or ''), members
--                                    0: taken, now or by an earlier send; {ms}: taken, but N or Z ends then; else
--                                    {ms until some expire (-1: unknown), ''}
--   give: members                    -1: none was there, else the number of receivers
--   disown: members                  1, or 0: none was there; they never expire
--   set: permits                     1, or 0: there is a number already
--   add: permits                     how many are free now
--   drain                            how many were free
--   read                             how many are free
-- Returns what follows the verb; 'kind': N holds no count (a whole number, at most 2^53), 'much': it would hold none after
-- an add.
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

-- If a command is refused (ACL) after another was not, the other is undone and the refusal is the result.
-- (Servers before Redis 7 cannot report an error that is raised as a table.)
local refused
local function or_undo(undo, ...)
  local reply = redis.pcall(...)
  if type(reply) ~= 'table' or not reply.err then return reply end
  if not refused then undo() end
  refused = refused or reply
end
local function weight(member) return weighted and tonumber(string.match(member, '|(%d+)$')) or 1 end
-- The members that exist, the expiry of each, and their number of permits.
local function find(members)
  local there, permits = {}, 0
  for _, member in ipairs(members) do
    there[member] = call('ZSCORE', Z, member) or nil
    if there[member] then permits = permits + weight(member) end
  end
  return there, permits
end
-- First read, then removed: Z ends with the last of them, and while a cluster moves the slot a script that names a missing key
-- ends there.
local function remove(there, undo)
  for member in pairs(there) do or_undo(undo, 'ZREM', Z, member) end
end
local function add(permits, undo)
  free = or_undo(undo, 'INCRBY', N, permits) or free
  grew = grew or permits > 0
end
local function come_back(there, permits, undo)
  remove(there, undo)
  -- The permits of a semaphore that was deleted are gone with it.
  if permits == 0 or not free or refused then return end
  add(permits, function()
    undo()
    for member, score in pairs(there) do redis.pcall('ZADD', Z, score, member) end
  end)
end
-- Held permits of an earlier semaphore of this name do not count.
local function begin(undo) if not free then or_undo(undo, 'DEL', Z) end end
local function set(permits, undo)
  begin(undo)
  if refused then return end
  or_undo(undo, 'SET', N, permits)
  free, grew = permits, true
end
-- Keeps the result of what must not be done twice, first: if that is refused (ACL), nothing has been done. DEL changes
-- nothing: after a write that needs no memory Redis refuses none that does, and a release must pass.
local function keep(result)
  if not O then return end
  call('DEL', O)
  call('SET', O, result, 'PX', ARGV[5])
end
local function forget() if O then redis.pcall('DEL', O) end end
local function nothing() end
local function members(from) return {unpack(ARGV, from)} end

local back, permits_back = find(call('ZRANGEBYSCORE', Z, 0, now, 'LIMIT', 0, 1000))
come_back(back, permits_back, nothing)
if refused then return refused end
local result, changed
if verb == 'take' then
  local ttl = call('PTTL', N)
  if not free and ARGV[7] ~= '' then set(ARGV[7], nothing) end
  if refused then return refused end
  local missing, new, mine = 0, {}, members(8)
  for _, member in ipairs(mine) do
    if not call('ZSCORE', Z, member) then
      missing = missing + weight(member)
      new[#new + 1] = member
    end
  end
  if missing == 0 or free and tonumber(free) >= missing then
    if missing > 0 then free = call('DECRBY', N, missing) end
    local function undo()
      if missing > 0 then redis.pcall('INCRBY', N, missing) end
      for _, member in ipairs(new) do redis.pcall('ZREM', Z, member) end
    end
    for _, member in ipairs(mine) do or_undo(undo, 'ZADD', Z, 'GT', now + ARGV[6], member) end
    if ttl >= 0 and not refused then or_undo(undo, 'PEXPIRE', Z, ttl) end
    local ends = ttl >= 0 and ttl or call('PTTL', Z)
    result = ends >= 0 and {ends} or 0
  else
    local first = tonumber(call('ZRANGE', Z, 0, 0, 'WITHSCORES')[2] or nil)
    -- This score is Redisson's "never".
    result = {first and first < 922337203685477 and math.max(first - now, 0) or -1, ''}
  end
elseif verb == 'give' or verb == 'disown' then
  local there, permits = find(members(6))
  changed = permits > 0
  if verb == 'give' then result = changed and 0 or -1 else result = changed and 1 or 0 end
  if changed then keep(result) end
  if verb == 'give' then come_back(there, permits, forget) else remove(there, forget) end
elseif verb == 'add' then
  result = tonumber(free or 0) + tonumber(ARGV[6])
  keep(result)
  begin(forget)
  if not refused then add(tonumber(ARGV[6]), forget) end
else
  -- Kept even if there is nothing to do: an earlier send that arrives later must do nothing.
  result = tonumber(free or 0)
  if verb == 'set' then result = free and 0 or 1 end
  if verb ~= 'read' then keep(result) end
  if verb == 'set' and result == 1 then set(ARGV[6], forget) end
  if verb == 'drain' and result ~= 0 then
    or_undo(forget, 'SET', N, 0, 'KEEPTTL')
    free = 0
  end
end
if refused then return refused end
if grew and tonumber(free) > 0 then
  local receivers = redis.pcall(ARGV[4], channel, free)
  if verb == 'give' and changed and type(receivers) == 'number' then result = receivers end
end
return result
