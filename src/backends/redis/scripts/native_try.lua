-- Takes a free fenced mutex, or finds it taken already by an earlier send of the same token.
-- (Without a fence no script is needed: SET N token NX GET PX lease.)
-- KEYS: N the lock, F its last fence       ARGV: token, lease in ms, fence TTL in s, '1' if it may take a free one
-- Returns {1, fence in units} when the lock is the token's, {0, holder} when it is somebody else's or ('') nobody's.
local N, F, me, call = KEYS[1], KEYS[2], ARGV[1], redis.call
local v = call('GET', N)
if v ~= me and (v or ARGV[4] ~= '1') then return {0, v or ''} end
if not v then
  call('SET', N, me, 'PX', ARGV[2])
else
  -- Always, though it may change nothing: after a write that needs no memory Redis refuses none that does.
  call('PEXPIRE', N, ARGV[2], 'GT')
end
-- Microseconds since 2026 stay exact in a Lua number for 285 years. Time makes a lost counter harmless.
local t = call('TIME')
local unit = (t[1] - 1767225600) * 1000000 + t[2]
local last = tonumber(call('GET', F) or 0)
if unit <= last then unit = last + 1 end
unit = string.format('%.0f', unit)
call('SET', F, unit, 'EX', ARGV[3])
return {1, unit}
