-- Renews the leases of Redisson RLocks that are still held; never takes or shortens.
-- KEYS: the locks       ARGV: lease in ms, hold count to be written ('0': leave it), then the owner of each
-- Returns the places of those that are not held by their owner.
local call, pcall = redis.call, redis.pcall
local holds = ARGV[2] ~= '0' and ARGV[2]
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local deadline = string.format('%.0f', now + ARGV[1])
-- Servers before Redis 7 do not know GT. A lock without a TTL is left without one, and all others are written.
local function lengthen(N)
  if type(pcall('PEXPIREAT', N, deadline, 'GT')) == 'number' then return end
  local ttl = call('PTTL', N)
  if ttl >= 0 then call('PEXPIREAT', N, string.format('%.0f', now + math.max(ttl, tonumber(ARGV[1])))) end
end
local lost = {}
for i, N in ipairs(KEYS) do
  local me = ARGV[i + 2]
  if pcall('HEXISTS', N, me) == 1 then
    lengthen(N)
    if holds then call('HSET', N, me, holds) end
  else
    lost[#lost + 1] = i
  end
end
return lost
