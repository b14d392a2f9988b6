-- SPDX-License-Identifier: MIT
with recursive c(x) as (select 1 union all select x + 1 from c where x < 20000)
select count(*), sum(x), group_concat(x % 7) from c where x < 100;
