-- Takes a free Redisson RLock, or finds it taken already by an earlier send of the same owner.
-- KEYS: N the lock (hash, field = owner, value = hold count), for a fenced lock also its token counter
-- ARGV: owner, lease in ms, for a fenced lock how many tokens it takes
-- Returns the first token taken (0: it takes none), 'kind' when N is some other hash, else {PTTL, owner of the lock}.
local N, me, call = KEYS[1], ARGV[1], redis.call
local holders = call('HKEYS', N)
if #holders > 0 and call('HEXISTS', N, me) == 0 then
  for _, field in ipairs(holders) do
    if not string.find(field, ':%-?%d+$') then return 'kind' end
  end
  return {call('PTTL', N), holders[1]}
end
if #holders > 0 then
  if call('PTTL', N) < tonumber(ARGV[2]) then call('PEXPIRE', N, ARGV[2]) end
  -- Nobody else can have taken one since.
  return KEYS[2] and math.max(tonumber(call('GET', KEYS[2]) or 0) - ARGV[3] + 1, 1) or 0
end
local token = KEYS[2] and call('INCRBY', KEYS[2], ARGV[3]) - ARGV[3] + 1 or 0
call('HSET', N, me, 1)
local expires = redis.pcall('PEXPIRE', N, ARGV[2])
if type(expires) == 'table' then call('DEL', N) return expires end  -- refused: the key would stay for ever
return token
