-- Lengthens the time that permits of semaphores are out; never takes or shortens.
-- KEYS: the semaphores       ARGV: of each its owners (zset), lease in ms, size of a member, all members in one string
-- Returns for each 1 renewed, 0 not all of them were there.
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local renewed = {}
for i = 1, #KEYS do
  local Z, lease, size, all = unpack(ARGV, 4 * i - 3, 4 * i)
  local members = {}
  for at = 1, #all, size do members[#members + 1] = string.sub(all, at, at + size - 1) end
  renewed[i] = 1
  for _, member in ipairs(members) do
    if type(redis.pcall('ZSCORE', Z, member)) ~= 'string' then renewed[i] = 0 end
  end
  if renewed[i] == 1 then
    for _, member in ipairs(members) do redis.call('ZADD', Z, 'XX', 'GT', now + lease, member) end
  end
end
return renewed
