-- Takes a free fenced mutex; an earlier send of the same token may have taken it.
-- (Without a fence no script is needed: SET N token NX GET PX lease.)
-- KEYS: N the lock, F its last fence       ARGV: token, lease in ms, fence TTL in s, '1' if it may take a free one
-- Returns {1, fence in units}: the token holds the lock, {0, holder}: another does, or ('') none;
-- 'fence': F holds no whole number below 2^53, so Lua cannot increase it.
local N, F, me, call, pcall = KEYS[1], KEYS[2], ARGV[1], redis.call, redis.pcall
local v = call('GET', N)
if v ~= me and (v or ARGV[4] ~= '1') then return {0, v or ''} end

-- All that may be refused or wrong is read before the first write.
local text = pcall('GET', F) or '0'
if type(text) == 'table' and not string.find(text.err, 'WRONGTYPE') then return text end
local last = type(text) == 'string' and string.find(text, '^%d+$') and tonumber(text)
if not last or last >= 2^53 then return 'fence' end
-- Microseconds since 2026 stay exact in a Lua number for 285 years. Time makes a lost counter harmless.
local t = call('TIME')
local unit = string.format('%.0f', math.max((t[1] - 1767225600) * 1000000 + t[2], last + 1))

if not v then
  call('SET', N, me, 'PX', ARGV[2])
else
  -- Always, though it may change nothing: after a write that needs no memory Redis refuses none that does.
  call('PEXPIRE', N, math.max(call('PTTL', N), tonumber(ARGV[2])))
end
local written = pcall('SET', F, unit, 'EX', ARGV[3])
if written.err then
  -- No right to write F: the taken lock would have no owner.
  if not v then call('DEL', N) end
  return written
end
return {1, unit}
