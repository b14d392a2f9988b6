<?php // SPDX-License-Identifier: MIT
$fiber = new Fiber(function () { for ($i = 0; $i < 5; $i++) Fiber::suspend($i); });
$text = $fiber->start();
while (!$fiber->isTerminated()) $text .= $fiber->resume();
try { throw new Exception("e"); } catch (Exception $e) { $text .= $e->getMessage(); }
echo $text, count(array_unique(range(1, 20000))), "\n";
