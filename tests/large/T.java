// SPDX-License-Identifier: MIT
import java.util.*;
public class T {
  static int deep(int n) { return n == 0 ? 0 : 1 + deep(n - 1); }
  static int overflow() { return overflow() + 1; }
  public static void main(String[] a) throws Exception {
    int caught = 0;
    try { overflow(); } catch (StackOverflowError e) { caught++; }
    String s = null;
    for (int i = 0; i < 1000; i++) try { s.length(); } catch (NullPointerException e) { caught++; }
    for (int round = 0; round < 10; round++) {
      List<Thread> threads = new ArrayList<>();
      for (int i = 0; i < 200; i++) {
        Thread t = new Thread(() -> { try { Thread.sleep(5); } catch (InterruptedException e) {} });
        threads.add(t); t.start();
      }
      for (Thread t : threads) t.join();
    }
    Map<Integer, String> m = new HashMap<>();
    for (int i = 0; i < 300000; i++) m.put(i % 5000, "x" + i);
    System.gc();
    System.out.println("ok " + deep(500) + " " + caught + " " + m.size());
  }
}
