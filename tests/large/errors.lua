-- SPDX-License-Identifier: MIT
-- LuaJIT throws its errors as exceptions, whose personality routine finds its frame by the stack pointer.
local count, text = 0, {}
for i = 1, 2000 do
  local ok, why = pcall(function(n) if n % 3 == 0 then error({ n = n }) end return n end, i)
  count = count + (ok and why or why.n * 2)
end
local turns = {}
for n = 1, 50 do
  turns[n] = coroutine.wrap(function() for i = 1, 5 do coroutine.yield(n * i) end error("end " .. n, 0) end)
end
for _ = 1, 6 do
  for n = 1, 50 do
    local ok, got = pcall(turns[n])
    if ok then count = count + got else text[#text + 1] = got end
  end
end
table.sort(text, function(a, b) return a < b end)
print(count, #text, text[1], select(2, pcall(string.rep)))
print(pcall(string.gsub, "abc", ".", function(c) if c == "b" then error("in gsub", 0) end end))
