-- Returns which commands the user may run. Runs none: it tries only refused ones, for the text of the refusal.
-- ARGV: for each command its number of words, and these
-- Returns for each '' if it may be run, 'unknown' if the server does not know it or cannot tell, else the refusal.
local verdicts, at = {}, 1
while ARGV[at] do
  local size = tonumber(ARGV[at])
  local words = {unpack(ARGV, at + 1, at + size)}
  local known, may = pcall(redis.acl_check_cmd, unpack(words))
  local verdict = ''
  if not known then
    verdict = 'unknown'
  elseif not may then
    local refusal = redis.pcall(unpack(words))
    verdict = type(refusal) == 'table' and refusal.err or 'refused'
  end
  verdicts[#verdicts + 1] = verdict
  at = at + size + 1
end
return verdicts
