-- Asks a holder's client to give up the lock, if the holder still holds it. Changes nothing.
-- KEYS: N the lock
-- ARGV: owner, wake channel of its client ('': unknown), PUBLISH or SPUBLISH, zsets of the permits of a counting_semaphore
-- and of a permit_semaphore, permit id ('': the owner is none), the client that asks, the lease as the holder's client
-- names it: the owner, or the first of the permits that were acquired together
-- Returns {1 if the owner holds the lock, number of receivers, ms that the lease has left (-1: no expiry)}.
local N, owner, channel, pcall = KEYS[1], ARGV[1], ARGV[2], redis.pcall
local kind = redis.call('TYPE', N).ok
local holds, left = false, redis.call('PTTL', N)
if kind == 'hash' then
  holds = pcall('HEXISTS', N, owner) == 1 or pcall('HEXISTS', N, owner .. ':write') == 1
elseif kind == 'string' then
  local content = redis.call('GET', N)
  holds = content == owner
  if not holds and string.find(content, '^%-?%d+$') then
    local ends = redis.call('ZSCORE', ARGV[4], owner)
    if not ends and ARGV[6] ~= '' then ends = redis.call('ZSCORE', ARGV[5], ARGV[6]) end
    local time = redis.call('TIME')
    left = (tonumber(ends or nil) or 0) - time[1] * 1000 - math.floor(time[2] / 1000)
    holds = left > 0
  end
end
if not holds then return {0, 0, 0} end
local receivers = channel ~= '' and pcall(ARGV[3], channel, ARGV[8] .. ' evicted ' .. ARGV[7] .. ' ' .. N)
return {1, type(receivers) == 'number' and receivers or 0, math.max(left, -1)}
