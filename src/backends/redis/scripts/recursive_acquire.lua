-- Takes a free Redisson RLock; an earlier send of the same owner may have taken it.
-- KEYS: N the lock (hash, field = owner, value = hold count), for a fenced lock also its fence counter
-- ARGV: owner, lease in ms, for a fenced lock how many fences it takes
-- Returns the first fence taken (0: it takes none), 'kind': N is another hash, 'fence': the counter holds no whole number
-- that Lua can increase up to 2^53, else {PTTL, owner of the lock}.
local N, T, me, call, pcall = KEYS[1], KEYS[2], ARGV[1], redis.call, redis.pcall
local holders = call('HKEYS', N)
if #holders > 0 and call('HEXISTS', N, me) == 0 then
  for _, field in ipairs(holders) do
    if not string.find(field, ':%-?%d+$') then return 'kind' end
  end
  return {call('PTTL', N), holders[1]}
end

-- All that may be refused or wrong is read before the first write.
local last = 0
if T then
  local text = pcall('GET', T) or '0'
  if type(text) == 'table' and not string.find(text.err, 'WRONGTYPE') then return text end
  last = type(text) == 'string' and string.find(text, '^%d+$') and tonumber(text)
  if not last or last > 2^53 - ARGV[3] or string.format('%.0f', last) ~= text then return 'fence' end
end
if #holders > 0 then
  if call('PTTL', N) < tonumber(ARGV[2]) then call('PEXPIRE', N, ARGV[2]) end
  -- No other owner can have taken one since.
  return T and math.max(last - ARGV[3] + 1, 1) or 0
end
call('HSET', N, me, 1)
local refused = pcall('PEXPIRE', N, ARGV[2])
if T and type(refused) == 'number' then refused = pcall('INCRBY', T, ARGV[3]) end
-- Without its TTL the key would stay for ever, without a fence it would have no owner.
if type(refused) == 'table' then call('DEL', N) return refused end
return T and last + 1 or 0
