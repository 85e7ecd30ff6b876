-- Lengthens the leases of mutexes that are still held; never takes, queues or shortens.
-- KEYS: the locks       ARGV: token and lease in ms of each, one after another
-- Returns for each 1 renewed, 0 not held by the token.
local renewed = {}
for i, N in ipairs(KEYS) do
  local v = redis.pcall('GET', N)
  if v == ARGV[2 * i - 1] then
    redis.call('PEXPIRE', N, ARGV[2 * i], 'GT')
    renewed[i] = 1
  else
    renewed[i] = 0
  end
end
return renewed
