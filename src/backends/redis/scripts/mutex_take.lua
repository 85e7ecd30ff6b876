-- Takes a free mutex, or tells who has it: SET N token NX GET PX lease, for servers that refuse NX together with GET (before
-- Redis 7).
-- KEYS: N the lock       ARGV: token, lease in ms
-- Returns nothing when the token has it now, else the token that has it.
local v = redis.call('GET', KEYS[1])
if v then return v end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return false
