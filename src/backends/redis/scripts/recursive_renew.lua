-- Lengthens the leases of Redisson RLocks that are still held; never takes or shortens.
-- KEYS: the locks       ARGV: of each its owner, and lease in ms, then /HOLDS if that count is to be set too
-- Returns for each 1 renewed, 0 not held by the owner.
local call, pcall = redis.call, redis.pcall
local renewed = {}
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local terms, deadline, holds  -- most have the same
for i, N in ipairs(KEYS) do
  local me = ARGV[2 * i - 1]
  if pcall('HEXISTS', N, me) == 1 then
    if ARGV[2 * i] ~= terms then
      terms = ARGV[2 * i]
      local lease, slash, count = string.match(terms, '^(%d+)(/?)(%d*)$')
      deadline, holds = string.format('%.0f', now + lease), slash == '/' and count
    end
    call('PEXPIREAT', N, deadline, 'GT')
    if holds then call('HSET', N, me, holds) end
    renewed[i] = 1
  else
    renewed[i] = 0
  end
end
return renewed
