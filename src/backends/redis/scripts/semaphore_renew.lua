-- Renews the leases of permits of semaphores; never takes or shortens.
-- KEYS: the semaphores
-- ARGV: lease in ms, then of each its owners (zset), size of a member, all members in one string
-- Returns the place of each semaphore with a missing permit, and {place, ms} of each that ends before the lease does, because
-- somebody gave it a TTL.
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local lease, short, written = tonumber(ARGV[1]), {}, false
for i = 1, #KEYS do
  local Z, size, all = unpack(ARGV, 3 * i - 1, 3 * i + 1)
  local members, there = {}, true
  for at = 1, #all, size do members[#members + 1] = string.sub(all, at, at + size - 1) end
  for _, member in ipairs(members) do
    local score = redis.pcall('ZSCORE', Z, member)
    -- On another server, while the slot moves: unknown.
    if type(score) == 'table' and not string.find(score.err, 'WRONGTYPE') then return score end
    if type(score) ~= 'string' then there = false end
  end
  if there then
    -- Changes nothing: after a write that needs no memory Redis refuses none that does.
    if not written then written = redis.call('ZREM', Z, '') end
    for _, member in ipairs(members) do redis.call('ZADD', Z, 'XX', 'GT', now + lease, member) end
    local ends = lease
    for _, key in ipairs({KEYS[i], Z}) do
      local ttl = redis.call('PTTL', key)
      if ttl >= 0 then ends = math.min(ends, ttl) end
    end
    if ends < lease then short[#short + 1] = {i, ends} end
  else
    short[#short + 1] = i
  end
end
return short
