-- Reads the queue of a free Redisson RFairLock: which owners at its head are absent, and how long do they block it?
-- KEYS: N the lock, Q its queue, T their time limits (ms since 1970)
-- ARGV: the channel of an owner without the owner, NUMSUB or SHARDNUMSUB, '' to read only, else PUBLISH or SPUBLISH: remove
-- the owners at the head that are absent and listed after this, and notify the next one
-- Returns {ms that Redisson's clients still wait for them (-1: for ever), the absent owners, or those that were removed}.
-- No client waits for an owner whose limit has passed: the next one passes over it.
-- An owner is absent if no client of the server listens for it. One of ours (':' and 16 digits) may have no right to listen and
-- poll instead, which keeps its limit ahead of the server's clock.
local N, Q, T, call = KEYS[1], KEYS[2], KEYS[3], redis.call
if call('EXISTS', N) == 1 or call('TYPE', Q).ok ~= 'list' then return {0} end
local time = call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local was_absent
if ARGV[3] ~= '' then
  was_absent = {}
  for i = 4, #ARGV do was_absent[ARGV[i]] = true end
end
local dead, left = {}, 0
for _, owner in ipairs(call('LRANGE', Q, 0, 499)) do
  if was_absent and not was_absent[owner] then break end
  local seen = redis.pcall('PUBSUB', ARGV[2], ARGV[1] .. owner)
  if not seen[2] or seen[2] > 0 then break end
  local limit = tonumber(call('ZSCORE', T, owner) or nil)
  if limit and limit > now and string.find(owner, ':%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d$') then break end
  dead[#dead + 1] = owner
  if not limit then left = -1 elseif left >= 0 then left = math.max(left, limit - now) end
end
if left == 0 then return {0} end
if was_absent and #dead > 0 then
  local behind = call('LRANGE', Q, #dead, -1)
  local last = tonumber(call('ZSCORE', T, dead[#dead]) or nil)
  for _, owner in ipairs(dead) do
    call('LPOP', Q)
    call('ZREM', T, owner)
  end
  -- The rest of a dead owner's time is in the limits behind it: fair_acquire.lua.
  for _, owner in ipairs(behind) do call('ZADD', T, 'XX', 'INCR', last and -math.max(last - now, 0) or 0, owner) end
  if behind[1] then redis.pcall(ARGV[3], ARGV[1] .. behind[1], '0') end
end
return {left, unpack(dead)}
