# SPDX-License-Identifier: MIT
my %h;
for (1 .. 20000) { $h{$_ % 100} .= "x" }
eval { die "y" };
print length($h{5}), " $@";
