-- Since when this server has been the master, as its clients saw it: notes the first look at it, tells later ones.
-- KEYS: the note       ARGV: which server this is since its promotion, how long to keep a note that nobody reads, in ms;
--                            0: only look, and write nothing
-- Returns the milliseconds since the first look; 0 when this is it. A note of another server came by replication.
local N, me, keep, call = KEYS[1], ARGV[1], tonumber(ARGV[2]), redis.call
local t = call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local note = call('GET', N)
local who, since = string.match(note or '', '^promoted (%S+) (%d+)$')
if note and not who then return redis.error_reply('WRONGTYPE the key holds something else') end
-- One of the future is of a clock that was set back since.
if who ~= me or tonumber(since) > now then
  if keep == 0 then return 0 end
  since = now
  call('SET', N, 'promoted ' .. me .. ' ' .. string.format('%.0f', now))
end
if keep > 0 then call('PEXPIRE', N, keep) end
return now - tonumber(since)
