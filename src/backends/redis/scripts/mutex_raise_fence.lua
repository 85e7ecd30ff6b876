-- Raises the last fence of a held mutex: another server of the same lock has given a higher one.
-- KEYS: N the lock, F its last fence       ARGV: token, fence in units, fence TTL in s
-- Returns 1: F is at least that, 0: N is not the token's, 'fence': F holds no whole number below 2^53.
local call, pcall = redis.call, redis.pcall
if call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
local text = pcall('GET', KEYS[2]) or '0'
if type(text) == 'table' and not string.find(text.err, 'WRONGTYPE') then return text end
local last = type(text) == 'string' and string.find(text, '^%d+$') and tonumber(text)
if not last or last >= 2^53 or tonumber(ARGV[2]) > 2^53 then return 'fence' end
if last < tonumber(ARGV[2]) then
  call('SET', KEYS[2], ARGV[2], 'EX', ARGV[3])
end
return 1
