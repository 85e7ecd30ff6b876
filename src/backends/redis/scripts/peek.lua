-- Looks at keys without changing them, to tell what kind of lock each is.
-- KEYS: the keys
-- Returns for each {type, PTTL, content}: a string's first 64 bytes, a hash of up to 32 fields as in HGETALL, else nothing.
local seen = {}
for i, N in ipairs(KEYS) do
  local kind = redis.call('TYPE', N).ok
  local content = {}
  if kind == 'string' then
    content = {redis.call('GETRANGE', N, 0, 63)}
  elseif kind == 'hash' and redis.call('HLEN', N) <= 32 then
    content = redis.call('HGETALL', N)
  end
  seen[i] = {kind, redis.call('PTTL', N), content}
end
return seen
