-- Lengthens the leases of mutexes that are still held; never takes, queues or shortens.
-- KEYS: the locks       ARGV: lease in ms, then the token of each
-- Returns the places of those that are not held by their token.
local call = redis.call
local time = call('TIME')
local deadline = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[1])
local lost = {}
for i, v in ipairs(call('MGET', unpack(KEYS))) do
  if v == ARGV[i + 1] then
    call('PEXPIREAT', KEYS[i], deadline, 'GT')
  else
    lost[#lost + 1] = i
  end
end
return lost
