-- Looks at keys without changing them, to tell what kind of lock each is.
-- KEYS: the keys       ARGV: of each the keys that would stand beside it: permits of a counting_semaphore, of a
-- permit_semaphore, the line of a fair_mutex, the token of a fenced_mutex
-- Returns for each {type, PTTL, content, beside}. Content: a string's first 64 bytes and, if that is a number, up to 32
-- permits of both kinds with their scores; a hash of up to 32 fields as in HGETALL; else nothing. Beside: 'line', 'token'
-- or nothing.
local seen = {}
for i, N in ipairs(KEYS) do
  local function beside(which) return ARGV[4 * i - 4 + which] end
  local kind = redis.call('TYPE', N).ok
  local content, found = {}, ''
  if kind == 'string' then
    content = {redis.call('GETRANGE', N, 0, 63)}
    if string.find(content[1], '^%-?%d+$') then
      for which = 1, 2 do
        local out = redis.pcall('ZRANGE', beside(which), 0, 31, 'WITHSCORES')
        content[1 + which] = out.err and {} or out
      end
    end
  elseif kind == 'hash' and redis.call('HLEN', N) <= 32 then
    content = redis.call('HGETALL', N)
    if redis.pcall('EXISTS', beside(3)) == 1 then
      found = 'line'
    elseif redis.pcall('EXISTS', beside(4)) == 1 then
      found = 'token'
    end
  end
  seen[i] = {kind, redis.call('PTTL', N), content, found}
end
return seen
