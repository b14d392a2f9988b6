# SPDX-License-Identifier: MIT
# Continuations: copies of the stack, gone on with more than once; and fibers.
require 'continuation'

def descend(level, kept)
  return callcc { |c| kept << c; 0 } if level.zero?
  [level].each { |n| return descend(n - 1, kept) }
end

$entered = 0
$sorted = []
kept = []
value = descend(5, kept)
$entered += 1
$sorted = [3, 1, $entered].sort_by { |n| -n }
kept[0].call(value + 1) if value < 20
puts "entered #{$entered} times, #{value}, #{$sorted}"

$found = []
kept = []
8.times do |n|
  value = descend(n, kept)
  $found << n * 100 + value
end
$again ||= 0
kept[$again / 2].call($again += 1) if $again < 12
puts "#{$found.size} #{$found.sum}"

fibers = (1..40).map { |n| Fiber.new { 5.times { |i| Fiber.yield n * i }; :end } }
p 6.times.map { fibers.map(&:resume) }.flatten.grep(Integer).sum
p 30.times.map { |n| catch(:out) { [n].each { |x| throw :out, x * 2 } } }.sum
