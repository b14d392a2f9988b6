# SPDX-License-Identifier: MIT
# Greenlets share one stack: what one has there is copied away while others run. And gevent's.
import greenlet

MANY, DEEP, ROUNDS = 200, 8, 4


def descend(level, number):
    if level:
        return max([descend(level - 1, number)], key=lambda found: found) + 1
    total = 0
    for round_number in range(ROUNDS):
        total += sorted([back.switch(number), round_number], key=lambda n: -n)[0]
    return total


back = greenlet.getcurrent()
all_of_them = [greenlet.greenlet(descend) for _ in range(MANY)]
for number, one in enumerate(all_of_them):
    one.switch(DEEP, number)
results = 0
for round_number in range(ROUNDS):
    for number, one in enumerate(all_of_them if round_number % 2 else all_of_them[::-1]):
        results += one.switch(number + round_number) or 0
print(results, sum(one.dead for one in all_of_them))
try:
    import gevent
    import gevent.queue
except ImportError:
    print("no gevent")
else:
    queue = gevent.queue.Queue()
    gathered = []
    workers = [gevent.spawn(lambda n: [queue.put(n * i) or gevent.sleep(0) for i in range(5)], n)
               for n in range(50)]
    gathering = gevent.spawn(lambda: [gathered.append(queue.get()) for _ in range(250)])
    gevent.joinall(workers + [gathering])
    print(sum(gathered))
