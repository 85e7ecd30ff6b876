-- Lengthens the leases of Redisson RLocks that are still held; never takes or shortens.
-- KEYS: the locks       ARGV: owner, lease in ms and hold count (0: leave it) of each, one after another
-- Returns for each 1 renewed, 0 not held by the owner.
local renewed = {}
for i, N in ipairs(KEYS) do
  local me = ARGV[3 * i - 2]
  if redis.pcall('HEXISTS', N, me) == 1 then
    redis.call('PEXPIRE', N, ARGV[3 * i - 1], 'GT')
    if ARGV[3 * i] ~= '0' then redis.call('HSET', N, me, ARGV[3 * i]) end
    renewed[i] = 1
  else
    renewed[i] = 0
  end
end
return renewed
