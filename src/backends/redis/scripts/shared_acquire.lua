-- Becomes a reader or the writer of a Redisson RReadWriteLock; an earlier send of the same owner may have done so.
-- KEYS: N the lock (hash: mode, readers, writer), of a reader also R, the mark of its hold
-- ARGV: the reader's or writer's field, lease in ms, of a reader the field of the writer that wants to read, too ('':
-- none)
-- Returns 0: taken, 'kind': N is another hash, else {PTTL, a holder}.
local N, R, me, lease, call, pcall = KEYS[1], KEYS[2], ARGV[1], ARGV[2], redis.call, redis.pcall
local mode = call('HGET', N, 'mode')
local holder = ''
-- Other data may have a field of that name, too.
for _, field in ipairs(call('HRANDFIELD', N, 8)) do
  if field ~= 'mode' then
    holder = field
    if not string.find(field, ':%-?%d+$') and not string.find(field, ':%-?%d+:write$') then return 'kind' end
  end
end
if not mode and holder ~= '' then return 'kind' end
if mode then
  if mode ~= 'read' and mode ~= 'write' then return 'kind' end
  local welcome = R and mode == 'read'
  if mode == 'write' then welcome = call('HEXISTS', N, R and ARGV[3] or me) == 1 end
  if not welcome then return {call('PTTL', N), holder} end
end

-- An earlier send was granted and may have been renewed since: this one may lengthen the reader's lease, never shorten it.
if R and mode and call('HEXISTS', N, me) == 1 then
  if call('PTTL', R) < tonumber(lease) then call('SET', R, 1, 'PX', lease) end
  if call('PTTL', N) < tonumber(lease) then call('PEXPIRE', N, lease) end
  return 0
end

-- If a write is refused after one that was not (ACL), the new part is undone. A key without its TTL would stay for ever,
-- and a recorded reader that does not know of its hold would keep writers out.
if R then call('SET', R, 1, 'PX', lease) end
local new
if mode then
  new = pcall('HSETNX', N, me, 1)
else
  new = pcall('HSET', N, 'mode', R and 'read' or 'write', me, 1)
end
local refused = type(new) == 'table' and new
if not refused and (not mode or call('PTTL', N) < tonumber(lease)) then
  local expires = pcall('PEXPIRE', N, lease)
  refused = type(expires) == 'table' and expires
end
if not refused then return 0 end
if not mode then
  call('DEL', N)
elseif new == 1 then
  call('HDEL', N, me)
end
if R and new ~= 0 then call('DEL', R) end
return refused
