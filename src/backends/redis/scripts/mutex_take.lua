-- Takes a free mutex, or returns its holder: SET N token NX GET PX lease, for servers before Redis 7, which refuse NX with
-- GET.
-- KEYS: N the lock       ARGV: token, lease in ms
-- Returns nothing if the token has it now, else the holder's token.
local v = redis.call('GET', KEYS[1])
if v then return v end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return false
