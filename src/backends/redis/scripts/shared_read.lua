-- Becomes a reader of a Redisson RReadWriteLock, or finds that an earlier send of the same owner did.
-- KEYS: N the lock (hash: mode, readers, writer), R the mark of this reader's hold       ARGV: owner, lease in ms
-- Returns 0 taken, 'kind' when N is some other hash, else {PTTL, a holder}.
local N, R, me, lease, call = KEYS[1], KEYS[2], ARGV[1], ARGV[2], redis.call
local mode = call('HGET', N, 'mode')
if not mode then
  if call('EXISTS', N) == 1 then return 'kind' end
  call('HSET', N, 'mode', 'read', me, 1)
  call('PEXPIRE', N, lease)
elseif mode == 'read' or call('HEXISTS', N, me .. ':write') == 1 then
  call('HSETNX', N, me, 1)
  if call('PTTL', N) < tonumber(lease) then call('PEXPIRE', N, lease) end
else
  for _, field in ipairs(call('HKEYS', N)) do
    if field ~= 'mode' then return {call('PTTL', N), field} end
  end
  return {call('PTTL', N), ''}
end
call('SET', R, 1, 'PX', lease)
return 0
