-- Gives a Redisson RFairLock back, however often its owner held it, and tells whose turn it is.
-- KEYS: N the lock, Q its line, T their time limits
-- ARGV: owner ('' evicts whoever holds it), '1' to leave the line too, the channel of an owner without the owner, liveness,
-- PUBLISH or SPUBLISH
-- Returns -1 not held by the owner, else how many listeners were told.
-- In a cluster whose slot moves, a key that was removed must not be spoken of again: it is taken to be elsewhere.
local N, Q, T = KEYS[1], KEYS[2], KEYS[3]
local me, leaves, call = ARGV[1], ARGV[2] == '1', redis.call
local held = me == '' or call('HEXISTS', N, me) == 1
local free = held or call('EXISTS', N) == 0
local head = free and call('LINDEX', Q, 0)
if head == me and leaves then head = call('LINDEX', Q, 1) end
held = held and call('DEL', N) == 1
if leaves then
  local place = call('LPOS', Q, me)
  if place then
    for _, behind in ipairs(call('LRANGE', Q, place + 1, -1)) do call('ZINCRBY', T, -tonumber(ARGV[4]), behind) end
    call('LREM', Q, 0, me)
  end
  call('ZREM', T, me)
end
local told = head and redis.pcall(ARGV[5], ARGV[3] .. head, '0')
if not held then return -1 end
return type(told) == 'number' and told or 0
