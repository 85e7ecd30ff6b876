-- Lengthens the leases of mutexes that are still held; never takes, queues or shortens.
-- KEYS: the locks       ARGV: token and lease in ms of each, one after another
-- Returns for each 1 renewed, 0 not held by the token.
local call = redis.call
local renewed = {}
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local lease, deadline  -- most have the same
for i, v in ipairs(call('MGET', unpack(KEYS))) do
  if v == ARGV[2 * i - 1] then
    if ARGV[2 * i] ~= lease then
      lease = ARGV[2 * i]
      deadline = string.format('%.0f', now + lease)
    end
    call('PEXPIREAT', KEYS[i], deadline, 'GT')
    renewed[i] = 1
  else
    renewed[i] = 0
  end
end
return renewed
