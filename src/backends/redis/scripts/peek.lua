-- Reads what shows the kind of lock that each key is. Changes nothing.
-- KEYS: the keys       ARGV: the companion keys of each: permits of a counting_semaphore, of a permit_semaphore,
-- queue of a fair_mutex, fence counter of a fenced_mutex; then, if not 32, the most owners to return
-- Returns for each {type, PTTL, content, beside, more}. Content: a string's first 512 bytes and, if that is a number,
-- of both kinds {number of held permits, up to 32 of them, the expired ones}; of a hash whose fields are owners up to 32
-- of them with their values, and `mode`; else nothing. Beside: 'line' (queue), 'token' (fence counter) or nothing. More:
-- how many owners of the hash were left out; of a string, its size.
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local from = '(' .. now
local most = tonumber(ARGV[4 * #KEYS + 1] or 32)
local function permits(Z)
  local out = redis.pcall('ZCOUNT', Z, from, '+inf')
  if type(out) ~= 'number' then return {0, {}, {}} end
  return {out, redis.call('ZRANGEBYSCORE', Z, from, '+inf', 'LIMIT', 0, most),
    redis.call('ZRANGEBYSCORE', Z, 0, now, 'LIMIT', 0, 1000)}
end
-- Reads only names of fields of a hash that is no lock: it may be large.
local function owners(N)
  local fields, content = redis.call('HRANDFIELD', N, most + 1), {}
  local mode = redis.call('HGET', N, 'mode')
  if mode then content = {'mode', string.sub(mode, 1, 8)} end
  local kept = 0
  for _, field in ipairs(fields) do
    if field ~= 'mode' and kept < most then
      if #field > 128 or not string.find(field, ':%-?%d+$') and not string.find(field, ':write$') then return {}, 0 end
      kept = kept + 1
      content[#content + 1] = field
      content[#content + 1] = redis.call('HSTRLEN', N, field) < 20 and redis.call('HGET', N, field) or ''
    end
  end
  return content, redis.call('HLEN', N) - #content / 2
end
local seen = {}
for i, N in ipairs(KEYS) do
  local function beside(which) return ARGV[4 * i - 4 + which] end
  local kind = redis.call('TYPE', N).ok
  local content, found, more = {}, '', 0
  if kind == 'string' then
    content, more = {redis.call('GETRANGE', N, 0, 511)}, redis.call('STRLEN', N)
    if string.find(content[1], '^%-?%d+$') then
      for which = 1, 2 do content[1 + which] = permits(beside(which)) end
    end
  elseif kind == 'hash' then
    content, more = owners(N)
    if redis.pcall('EXISTS', beside(3)) == 1 then
      found = 'line'
    elseif redis.pcall('EXISTS', beside(4)) == 1 then
      found = 'token'
    end
  end
  seen[i] = {kind, redis.call('PTTL', N), content, found, more}
end
return seen
