# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# The database of the examples with sqlite3 (tools/demo, the README and their tests).

# make_orders ROWS CUSTOMERS : orders.db in this folder.
make_orders() {
  sqlite3 orders.db <<SQL
create table orders(id integer primary key, customer integer, amount real, note text);
with recursive n(i) as (select 1 union all select i + 1 from n where i < $1)
  insert into orders select i, i * 7919 % $2, i % 1000 / 4.0, 'order number ' || i from n;
create index by_customer on orders(customer);
analyze;
SQL
}
# short_queries, queries : what the examples ask it.
short_queries() {
  cat <<'SQL'
select count(*), sum(amount) from orders;
select customer, count(*) from orders group by customer order by 2 desc, 1 limit 3;
select note from orders where customer = 42 order by id limit 2;
SQL
}
queries() {
  short_queries
  cat <<'SQL'
select id from orders where amount > 200;
select id, note from orders;
SQL
}
