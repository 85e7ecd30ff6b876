-- The writer of a Redisson RReadWriteLock leaves. If it reads as well, it is a reader from now on.
-- KEYS: N the lock       ARGV: the writer's field ('' evicts all), the lock's channel
-- Returns -1 not held by the writer, else how many listeners were told.
local N, me, call = KEYS[1], ARGV[1], redis.call
if me == '' then
  if call('DEL', N) == 0 then return -1 end
else
  if call('HDEL', N, me) == 0 then return -1 end
  if call('HLEN', N) > 1 then
    call('HSET', N, 'mode', 'read')
  else
    call('DEL', N)
  end
end
-- All of them: readers may come in together. Redisson says nothing to those who wait when a writer becomes a reader.
-- Its '1' wakes only threads that have gone to sleep already: one that has just asked would sleep through its whole
-- TTL. The '0' is kept for it.
local told = redis.pcall('PUBLISH', ARGV[2], '1')
redis.pcall('PUBLISH', ARGV[2], '0')
return type(told) == 'number' and told or 0
