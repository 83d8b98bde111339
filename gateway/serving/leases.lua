-- One round of one gateway: it renews what it holds of each pool, gives back what it needs no more, and gets what is
-- free up to its fair share. Time is the server's. All keys are of one slot.
--
-- KEYS: the budget's own row, then a pool each.
-- ARGV: holder, ttl in ms, gateways at most, then for each pool: fence, keep, want, whole, and 1 where `whole` is of one holder.
-- Returns for each pool: fence, held, allowed, prospect, holders.
--
-- The budget's row is "run_id seen quiet". Another run of the server, a row that is gone (FLUSHALL), or nobody heard
-- of for a ttl: then what is stored may be less than what holders use. For one ttl nothing new is given; whoever
-- comes tells what it uses. After that, what nobody told of has lapsed by its holder's own clock.
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local me, ttl, gateways = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local run = string.match(redis.call('INFO', 'server'), 'run_id:(%w+)')

local function read_budget()
  local row = redis.pcall('GET', KEYS[1])
  local known, seen, quiet = string.match(type(row) == 'string' and row or '', '^(%w+) (%d+) (%d+)$')
  seen, quiet = tonumber(seen), tonumber(quiet)
  if known ~= run or seen > now or now - seen > ttl or quiet > now + ttl then return now + ttl end
  return quiet
end

-- A pool is a hash: holder -> "until fence held want". What reads otherwise is none of ours, and goes.
local function read_pool(key)
  local kept, rows = redis.pcall('HGETALL', key), {}
  if kept.err then
    redis.call('DEL', key)
    return rows
  end
  for i = 1, #kept, 2 do
    local untl, fence, held, want = string.match(kept[i + 1], '^(%d+) (%d+) (%d+) (%d+)$')
    untl = tonumber(untl)
    if untl and untl > now and untl <= now + 60000 and #fence < 16 and #held < 10 and #want < 10 then
      rows[kept[i]] = { fence = tonumber(fence), held = tonumber(held), want = tonumber(want) }
    else
      redis.call('HDEL', key, kept[i])
    end
  end
  return rows
end

-- Max-min fair: whoever wants little gets it, the others share the rest alike; whole places only.
local function fair(rows, whole, want)
  local claims = { { me, want } }
  for holder, row in pairs(rows) do
    if holder ~= me then claims[#claims + 1] = { holder, row.want } end
  end
  table.sort(claims, function(a, b) return a[2] < b[2] or (a[2] == b[2] and a[1] < b[1]) end)
  for i, claim in ipairs(claims) do
    local part = math.min(claim[2], math.floor(whole / (#claims - i + 1)))
    if claim[1] == me then return part end
    whole = whole - part
  end
end

local quiet, answer = read_budget(), {}
for i = 2, #KEYS do
  local at = 4 + (i - 2) * 5
  local fence, keep, want = tonumber(ARGV[at]), tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2])
  local whole, each = tonumber(ARGV[at + 3]), ARGV[at + 4] == '1'
  local rows = read_pool(KEYS[i])
  local mine, others, holders = rows[me], 0, 1
  for holder, row in pairs(rows) do
    if holder ~= me then others, holders = others + row.held, holders + 1 end
  end
  if each then whole = whole * math.min(holders, gateways) end  -- one that ends is a holder still, and no node
  if mine and fence < mine.fence then  -- overtaken by a later one of the same holder, whose lease goes on
    redis.call('HSET', KEYS[i], me, string.format('%.0f %.0f %d %d', now + ttl, mine.fence, mine.held, mine.want))
    answer[#answer + 1] = { mine.fence, math.min(mine.held, keep), math.min(mine.held, keep), 0, holders }
  else
    if keep > 0 and not mine then quiet = math.max(quiet, now + ttl) end  -- a row was lost: others may be, too
    local free, part = math.max(0, whole - others), fair(rows, whole, want)
    local held, allowed = keep, math.min(keep, part, free)
    if quiet <= now then  -- else a claim is believed, so that others get no more, but heeded only as far as it fits
      held = mine and math.min(keep, mine.held) or 0
      held = math.max(held, math.min(part, free))
      allowed = math.min(held, part)
    end
    fence = math.max(fence + 1, now)
    if want == 0 and held == 0 then
      redis.call('HDEL', KEYS[i], me)
    else
      redis.call('HSET', KEYS[i], me, string.format('%.0f %.0f %d %d', now + ttl, fence, held, want))
    end
    answer[#answer + 1] = { fence, held, allowed, fair(rows, whole, whole), holders }
  end
end
redis.call('SET', KEYS[1], string.format('%s %.0f %.0f', run, now, quiet))
return answer
