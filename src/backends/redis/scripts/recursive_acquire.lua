-- Takes a free Redisson RLock, or finds it taken already by an earlier send of the same owner.
-- KEYS: N the lock (hash, field = owner, value = hold count), for a fenced lock also its token counter
-- ARGV: owner, lease in ms, for a fenced lock how many tokens it takes
-- Returns the first token taken (0: it takes none), 'kind' when N is some other hash, 'fence' when the counter holds no whole
-- number from which Lua could count on to 2^53, else {PTTL, owner of the lock}.
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
  -- Nobody else can have taken one since.
  return T and math.max(last - ARGV[3] + 1, 1) or 0
end
call('HSET', N, me, 1)
local refused = pcall('PEXPIRE', N, ARGV[2])
if T and type(refused) == 'number' then refused = pcall('INCRBY', T, ARGV[3]) end
-- Without its TTL the key would stay for ever, and without a token nobody would own it.
if type(refused) == 'table' then call('DEL', N) return refused end
return T and last + 1 or 0
