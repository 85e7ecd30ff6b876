-- Releases a Redisson RReadWriteLock for a reader or the writer. Other readers keep it; after the last one it is
-- free.
-- KEYS: N the lock, of a reader also the mark of its hold
-- ARGV: the reader's or writer's field, the lock's channel, the text of a mark before the owner and
-- after it, PUBLISH or SPUBLISH
-- Returns -1: not held by it, else the number of receivers.
-- Also made: shared_release_evicting, by evicting.lua.in.
local N, me, channel, call = KEYS[1], ARGV[1], ARGV[2], redis.call
local reads = KEYS[2]

-- How long readers still hold the lock. The marks of crashed readers expire.
local function read_for()
  local left = -2
  local fields = call('HGETALL', N)
  for i = 1, #fields, 2 do
    -- No reader holds it a thousand times; a wrong number must not keep the server busy.
    for hold = math.min(tonumber(fields[i + 1]) or 0, 1000), 1, -1 do
      local mark = redis.pcall('PTTL', ARGV[3] .. fields[i] .. ARGV[4] .. hold)
      -- A mark on another server, while the slot moves, counts as present.
      left = math.max(left, type(mark) == 'number' and mark or call('PTTL', N))
    end
  end
  return left
end

if reads then call('DEL', reads) end
if call('HDEL', N, me) == 0 then return -1 end
if reads and call('HGET', N, 'mode') == 'write' then return 0 end
local left = read_for()
if left > 0 then
  call('PEXPIRE', N, left)
  if reads then return 0 end
  call('HSET', N, 'mode', 'read')
else
  call('DEL', N)
end

-- After a writer all may enter, even beside readers. Redisson sends no message when a writer becomes a reader. Its '1'
-- wakes only threads that sleep already: one that has just asked would sleep for its whole TTL. The '0' is kept for
-- it.
if not reads then redis.pcall(ARGV[5], channel, '1') end
local receivers = redis.pcall(ARGV[5], channel, '0')
return type(receivers) == 'number' and receivers or 0
