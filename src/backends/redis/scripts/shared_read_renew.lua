-- Lengthens the leases of readers that still are; never takes, and never shortens what others have.
-- KEYS: the locks       ARGV: lease in ms, then the owner of each and the mark of its hold, one after another
-- Returns the places of those that are not held by their owner.
local lease, lost = ARGV[1], {}
for i, N in ipairs(KEYS) do
  if redis.pcall('HEXISTS', N, ARGV[2 * i]) == 1 then
    redis.call('PEXPIRE', N, lease, 'GT')
    redis.call('SET', ARGV[2 * i + 1], 1, 'PX', lease)
  else
    lost[#lost + 1] = i
  end
end
return lost
