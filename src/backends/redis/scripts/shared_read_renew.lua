-- Lengthens the leases of readers that still are; never takes, and never shortens what others have.
-- KEYS: the locks       ARGV: owner, lease in ms and the mark of its hold of each, one after another
-- Returns for each 1 renewed, 0 not held by the owner.
local renewed = {}
for i, N in ipairs(KEYS) do
  if redis.pcall('HEXISTS', N, ARGV[3 * i - 2]) == 1 then
    redis.call('PEXPIRE', N, ARGV[3 * i - 1], 'GT')
    redis.call('SET', ARGV[3 * i], 1, 'PX', ARGV[3 * i - 1])
    renewed[i] = 1
  else
    renewed[i] = 0
  end
end
return renewed
