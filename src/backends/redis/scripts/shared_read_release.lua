-- A reader of a Redisson RReadWriteLock leaves; with the last one the lock is free.
-- KEYS: N the lock, R the mark of this reader's hold
-- ARGV: owner, the lock's channel, marks of any owner: what stands before the owner, and what behind it
-- Returns -1 not held by the owner, else how many listeners were told.
local N, me, call = KEYS[1], ARGV[1], redis.call
call('DEL', KEYS[2])
if call('HDEL', N, me) == 0 then return -1 end
local mode = call('HGET', N, 'mode')
if mode == 'write' then return 0 end
-- The lock lives as long as the longest of the marks that are left. A crashed reader's marks end by themselves.
local left = -2
local fields = call('HGETALL', N)
for i = 1, #fields, 2 do
  for hold = tonumber(fields[i + 1]) or 0, 1, -1 do
    left = math.max(left, call('PTTL', ARGV[3] .. fields[i] .. ARGV[4] .. hold))
  end
end
if left > 0 then
  call('PEXPIRE', N, left)
  return 0
end
call('DEL', N)
local told = redis.pcall('PUBLISH', ARGV[2], '0')
return type(told) == 'number' and told or 0
