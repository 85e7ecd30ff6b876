-- Gives a Redisson RLock back, however often its owner held it, and tells those who wait.
-- KEYS: N the lock       ARGV: owner ('' evicts whoever holds it), the lock's channel, PUBLISH or SPUBLISH
-- Returns -1 not held by the owner, else how many listeners were told.
local N, call = KEYS[1], redis.call
if ARGV[1] ~= '' and call('HEXISTS', N, ARGV[1]) == 0 then return -1 end
if call('DEL', N) == 0 then return -1 end
local told = redis.pcall(ARGV[3], ARGV[2], '0')
return type(told) == 'number' and told or 0
