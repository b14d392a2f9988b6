# SPDX-License-Identifier: MIT
# For docs/manual/cookbook.md: statements of sqlite3, one of which takes its time.
import sqlite3

db = sqlite3.connect(":memory:")
db.execute("create table t(a, b)")
db.executemany("insert into t values (?, ?)", [(i, i % 7) for i in range(3000)])
for i in range(5):
    db.execute("select sum(a) from t where b = ?", (i,)).fetchall()
db.execute("select count(*) from t x, t y where x.a % 100 = y.b + 50 and y.a < 1000").fetchall()
