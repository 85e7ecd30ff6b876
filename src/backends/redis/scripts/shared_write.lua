-- Becomes the writer of a Redisson RReadWriteLock, or finds that an earlier send of the same owner did.
-- KEYS: N the lock (hash: mode, readers, writer)       ARGV: the writer's field, lease in ms
-- Returns 0 taken, 'kind' when N is some other hash, else {PTTL, a holder}.
local N, me, lease, call = KEYS[1], ARGV[1], ARGV[2], redis.call
local mode = call('HGET', N, 'mode')
if not mode then
  if call('EXISTS', N) == 1 then return 'kind' end
  call('HSET', N, 'mode', 'write', me, 1)
  call('PEXPIRE', N, lease)
  return 0
end
if mode == 'write' and call('HEXISTS', N, me) == 1 then
  if call('PTTL', N) < tonumber(lease) then call('PEXPIRE', N, lease) end
  return 0
end
for _, field in ipairs(call('HKEYS', N)) do
  if field ~= 'mode' then return {call('PTTL', N), field} end
end
return {call('PTTL', N), ''}
