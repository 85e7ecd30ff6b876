-- Lifts the last fence of a mutex that is held: another server of the same lock has given a higher one.
-- KEYS: N the lock, F its last fence       ARGV: token, fence in units, fence TTL in s
-- Returns 1 when F is at least that, 0 when N is not the token's.
local call = redis.call
if call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
if tonumber(call('GET', KEYS[2]) or 0) < tonumber(ARGV[2]) then
  call('SET', KEYS[2], ARGV[2], 'EX', ARGV[3])
end
return 1
