-- Takes a free Redisson RLock, or finds it taken already by an earlier send of the same owner.
-- KEYS: N the lock (hash, field = owner, value = hold count)       ARGV: owner, lease in ms
-- Returns 1 taken, 2 it was the owner's already, 'kind' when N is some other hash, else {PTTL, owner of the lock}.
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
  return 2
end
call('HSET', N, me, 1)
call('PEXPIRE', N, ARGV[2])
return 1
