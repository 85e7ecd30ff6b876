-- Looks at keys without changing them, to tell what kind of lock each is.
-- KEYS: the keys       ARGV: of each, where the permits of a counting_semaphore and of a permit_semaphore would stand
-- Returns for each {type, PTTL, content}: a string's first 64 bytes and, if that is a number, up to 32 of those permits
-- with their scores, twice; a hash of up to 32 fields as in HGETALL; else nothing.
local seen = {}
for i, N in ipairs(KEYS) do
  local kind = redis.call('TYPE', N).ok
  local content = {}
  if kind == 'string' then
    content = {redis.call('GETRANGE', N, 0, 63)}
    if string.find(content[1], '^%-?%d+$') then
      for place = 2 * i - 1, 2 * i do
        local out = redis.pcall('ZRANGE', ARGV[place], 0, 31, 'WITHSCORES')
        content[#content + 1] = out.err and {} or out
      end
    end
  elseif kind == 'hash' and redis.call('HLEN', N) <= 32 then
    content = redis.call('HGETALL', N)
  end
  seen[i] = {kind, redis.call('PTTL', N), content}
end
return seen
