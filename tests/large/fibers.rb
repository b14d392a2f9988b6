# SPDX-License-Identifier: MIT
fiber = Fiber.new { 5.times { |i| Fiber.yield i }; 9 }
seen = 6.times.map { fiber.resume }
def deep(n) deep(n + 1) end
begin
  deep(0)
rescue SystemStackError
  seen << :overflow
end
p seen, (1..20000).map(&:to_s).uniq.size
