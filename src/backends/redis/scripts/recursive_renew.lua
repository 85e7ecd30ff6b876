-- Lengthens the leases of Redisson RLocks that are still held; never takes or shortens.
-- KEYS: the locks       ARGV: lease in ms, hold count to be written ('0': leave it), then the owner of each
-- Returns the places of those that are not held by their owner.
local call, pcall = redis.call, redis.pcall
local holds = ARGV[2] ~= '0' and ARGV[2]
local time = call('TIME')
local deadline = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[1])
local lost = {}
for i, N in ipairs(KEYS) do
  local me = ARGV[i + 2]
  if pcall('HEXISTS', N, me) == 1 then
    call('PEXPIREAT', N, deadline, 'GT')
    if holds then call('HSET', N, me, holds) end
  else
    lost[#lost + 1] = i
  end
end
return lost
