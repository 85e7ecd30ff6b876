-- How long this server has been the master, as its clients saw it: notes the first call, answers later ones.
-- KEYS: the note       ARGV: the name of the server since its promotion, how long to keep an unread note, in ms;
--                            0: only read
-- Returns the ms since the first call; 0: this is the first. A note of another server came by replication.
local N, me, keep, call = KEYS[1], ARGV[1], tonumber(ARGV[2]), redis.call
local t = call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local note = call('GET', N)
local who, since = string.match(note or '', '^promoted (%S+) (%d+)$')
if note and not who then return redis.error_reply('WRONGTYPE the key holds something else') end
-- A note from the future: the clock was set back.
if who ~= me or tonumber(since) > now then
  if keep == 0 then return 0 end
  since = now
  call('SET', N, 'promoted ' .. me .. ' ' .. string.format('%.0f', now))
end
if keep > 0 then call('PEXPIRE', N, keep) end
return now - tonumber(since)
