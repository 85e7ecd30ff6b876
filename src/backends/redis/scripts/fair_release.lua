-- Releases a Redisson RFairLock, with all holds of its owner, and notifies the next owner.
-- KEYS: N the lock, Q its queue, T their time limits
-- ARGV: owner ('': evict any holder), '1' to leave the queue too, the channel of an owner without the owner, liveness,
-- PUBLISH or SPUBLISH
-- Returns -1: not held by the owner, else the number of receivers.
-- The first write is one that Redis allows without memory (DEL, LREM), and then so are the others.
-- While a cluster moves the slot, a script must not name a key that it has removed: the server would look elsewhere.
-- Also made: fair_release_evicting, by evicting.lua.in.
local N, Q, T = KEYS[1], KEYS[2], KEYS[3]
local me, leaves, call = ARGV[1], ARGV[2] == '1', redis.call
local held = me == '' or call('HEXISTS', N, me) == 1
local free = held or call('EXISTS', N) == 0
local head = free and call('LINDEX', Q, 0)
if head == me and leaves then head = call('LINDEX', Q, 1) end
held = held and call('DEL', N) == 1
local place = leaves and call('LPOS', Q, me)
if place then
  local time = call('TIME')
  local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
  local function limit_of(owner) return owner and tonumber(call('ZSCORE', T, owner) or nil) end
  local before, behind = place > 0 and call('LINDEX', Q, place - 1), call('LRANGE', Q, place + 1, -1)
  local limit = limit_of(me)
  -- The limits behind it lose what it added to the limit before it: fair_acquire.lua.
  local by = limit and math.max(now, limit_of(before) or 0) - limit or 0
  call('LREM', Q, 0, me)
  call('ZREM', T, me)
  for _, owner in ipairs(behind) do
    -- An owner of ours keeps its reserve against clients of Java's that enter before it asks again.
    if place > 0 and string.find(owner, ':%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d$') then by = math.max(by, -tonumber(ARGV[4])) end
    call('ZADD', T, 'XX', 'INCR', by, owner)
  end
elseif leaves then
  call('ZREM', T, me)
end
local receivers = head and redis.pcall(ARGV[5], ARGV[3] .. head, '0')
if not held then return -1 end
return type(receivers) == 'number' and receivers or 0
