-- Gives a Redisson RFairLock back, however often its owner held it, and tells whose turn it is.
-- KEYS: N the lock, Q its line, T their time limits
-- ARGV: owner ('' evicts whoever holds it), '1' to leave the line too, the channel of an owner without the owner, liveness
-- Returns -1 not held by the owner, else how many listeners were told.
local N, Q, T = KEYS[1], KEYS[2], KEYS[3]
local me, call = ARGV[1], redis.call
local held = me == '' or call('HEXISTS', N, me) == 1
held = held and call('DEL', N) == 1
if ARGV[2] == '1' then
  local place = call('LPOS', Q, me)
  if place then
    for _, behind in ipairs(call('LRANGE', Q, place + 1, -1)) do call('ZINCRBY', T, -tonumber(ARGV[4]), behind) end
    call('LREM', Q, 0, me)
  end
  call('ZREM', T, me)
end
local head = call('EXISTS', N) == 0 and call('LINDEX', Q, 0)
local told = head and redis.pcall('PUBLISH', ARGV[3] .. head, '0')
if not held then return -1 end
return type(told) == 'number' and told or 0
