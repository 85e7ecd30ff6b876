-- Releases a mutex, or leaves its queue, and hands it off to the first live waiter.
-- KEYS: N the lock, Q its queue
-- ARGV: token, hand-off lease in ms, wake channel prefix, '1' to leave the queue too,
-- PUBLISH or SPUBLISH
-- Returns 0: not held by the token, 1: freed, 2: handed off, 3: freed, no right to publish.
-- The first write is one that Redis allows without memory (ZREM, ZPOPMIN, DEL), and then so are the others.
-- Also made: mutex_release_and_hand_off_evicting, by evicting.lua.in.
local N, Q, me, call = KEYS[1], KEYS[2], ARGV[1], redis.call
if ARGV[4] == '1' then call('ZREM', Q, me) end
local v = call('GET', N)
if v and v ~= me then return 0 end
local was_held = v and 1 or 0
local head = call('ZPOPMIN', Q)
while head[1] do
  local w = head[1]
  local heard = w == me and 0 or
    redis.pcall(ARGV[5], ARGV[3] .. string.sub(w, 1, 22), w .. ' ' .. head[2] .. ' ' .. N)
  if type(heard) ~= 'number' then
    call('ZADD', Q, head[2], w)
    call('DEL', N)
    return was_held * 3
  end
  if heard > 0 then
    call('SET', N, w, 'PX', ARGV[2])
    return was_held * 2
  end
  head = call('ZPOPMIN', Q)
end
call('DEL', N)
return was_held
