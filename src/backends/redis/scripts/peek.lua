-- Looks at keys without changing them, to tell what kind of lock each is.
-- KEYS: the keys       ARGV: of each the keys that would stand beside it: permits of a counting_semaphore, of a
-- permit_semaphore, the line of a fair_mutex, the token of a fenced_mutex
-- Returns for each {type, PTTL, content, beside}. Content: a string's first 64 bytes and, if that is a number,
-- of both kinds {how many permits are out, up to 32 of them, those that have run out}; a hash of up to 32 fields as in
-- HGETALL; else nothing. Beside: 'line', 'token' or nothing.
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local from = '(' .. now
local function permits(Z)
  local out = redis.pcall('ZCOUNT', Z, from, '+inf')
  if type(out) ~= 'number' then return {0, {}, {}} end
  return {out, redis.call('ZRANGEBYSCORE', Z, from, '+inf', 'LIMIT', 0, 32),
    redis.call('ZRANGEBYSCORE', Z, 0, now, 'LIMIT', 0, 1000)}
end
local seen = {}
for i, N in ipairs(KEYS) do
  local function beside(which) return ARGV[4 * i - 4 + which] end
  local kind = redis.call('TYPE', N).ok
  local content, found = {}, ''
  if kind == 'string' then
    content = {redis.call('GETRANGE', N, 0, 63)}
    if string.find(content[1], '^%-?%d+$') then
      for which = 1, 2 do content[1 + which] = permits(beside(which)) end
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
