-- Renews the leases of readers that still hold; never takes or shortens.
-- KEYS: the locks       ARGV: lease in ms, then the owner of each and the mark of its hold, one after another
-- Returns the places of those that are not held by their owner.
local lease, lost, call, pcall = ARGV[1], {}, redis.call, redis.pcall
-- Servers before Redis 7 do not know GT. A lock without a TTL is left without one.
local function lengthen(N)
  if type(pcall('PEXPIRE', N, lease, 'GT')) == 'number' then return end
  local ttl = call('PTTL', N)
  if ttl >= 0 then call('PEXPIRE', N, math.max(ttl, tonumber(lease))) end
end
for i, N in ipairs(KEYS) do
  if pcall('HEXISTS', N, ARGV[2 * i]) == 1 then
    lengthen(N)
    local mark = ARGV[2 * i + 1]
    local left = pcall('PTTL', mark)
    if type(left) ~= 'number' or left < tonumber(lease) then call('SET', mark, 1, 'PX', lease) end
  else
    lost[#lost + 1] = i
  end
end
return lost
