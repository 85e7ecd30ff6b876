-- Releases a mutex if the user has no right to the queue: compare and delete.
-- KEYS: N the lock       ARGV: token
-- Returns 0: not held by the token, 1: freed.
-- Also made: mutex_delete_if_owner_evicting, by evicting.lua.in.
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])
