-- SPDX-License-Identifier: Apache-2.0
-- For wrk: orders for products at random. Ends with one line of JSON: how many were answered how.
--     wrk -s orders.lua http://127.0.0.1:8080 -- 3
local threads = {}

function setup(thread)
   table.insert(threads, thread)
   thread:set("seed", #threads)
end

function init(arguments)
   products = tonumber(arguments[1]) or 1
   math.randomseed(seed)
   sold, sold_out, refused, other = 0, 0, 0, 0
end

function request()
   return wrk.format("POST", "/stock/deduct?id=" .. math.random(products))
end

function response(status)
   if status == 200 then
      sold = sold + 1
   elseif status == 409 then
      sold_out = sold_out + 1
   elseif status == 503 then
      refused = refused + 1
   else
      other = other + 1
   end
end

function done(summary)
   local errors = summary.errors
   local told = {
      broken = errors.connect + errors.read + errors.write + errors.timeout,
   }
   for _, name in ipairs({"sold", "sold_out", "refused", "other"}) do
      told[name] = 0
      for _, thread in ipairs(threads) do
         told[name] = told[name] + thread:get(name)
      end
   end
   print(string.format('{"sold": %d, "sold_out": %d, "refused": %d, "other": %d, "broken": %d}',
                       told.sold, told.sold_out, told.refused, told.other, told.broken))
end
