-- Becomes a reader or the writer of a Redisson RReadWriteLock, or finds that an earlier send of the same owner did.
-- KEYS: N the lock (hash: mode, readers, writer), of a reader also R, the mark of its hold
-- ARGV: the reader's or writer's field, lease in ms, of a reader the field of the writer who wants to read as well (''
-- nobody)
-- Returns 0 taken, 'kind' when N is some other hash, else {PTTL, a holder}.
local N, R, me, lease, call = KEYS[1], KEYS[2], ARGV[1], ARGV[2], redis.call
local mode = call('HGET', N, 'mode')
local holder = ''
-- Somebody's data may have a field of that name too.
for _, field in ipairs(call('HRANDFIELD', N, 8)) do
  if field ~= 'mode' then
    holder = field
    if not string.find(field, ':%-?%d+$') and not string.find(field, ':%-?%d+:write$') then return 'kind' end
  end
end
if not mode then
  if holder ~= '' then return 'kind' end
  call('HSET', N, 'mode', R and 'read' or 'write', me, 1)
  local expires = redis.pcall('PEXPIRE', N, lease)
  if type(expires) == 'table' then call('DEL', N) return expires end  -- refused: the key would stay for ever
else
  if mode ~= 'read' and mode ~= 'write' then return 'kind' end
  local welcome = R and mode == 'read'
  if mode == 'write' then welcome = call('HEXISTS', N, R and ARGV[3] or me) == 1 end
  if not welcome then return {call('PTTL', N), holder} end
  call('HSETNX', N, me, 1)
  if call('PTTL', N) < tonumber(lease) then call('PEXPIRE', N, lease) end
end
if R then call('SET', R, 1, 'PX', lease) end
return 0
