-- Renews the leases of mutexes that are still held; never takes, queues or shortens.
-- KEYS: the locks       ARGV: lease in ms, then the token of each
-- Returns the places of those that are not held by their token.
local call, pcall = redis.call, redis.pcall
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
for i, v in ipairs(call('MGET', unpack(KEYS))) do
  if v == ARGV[i + 1] then
    lengthen(KEYS[i])
  else
    lost[#lost + 1] = i
  end
end
return lost
