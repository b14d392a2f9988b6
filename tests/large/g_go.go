// SPDX-License-Identifier: MIT
package main

import "C"
import "fmt"
import "sync"

type tree struct{ l, r *tree }

func grow(n int) *tree {
  if n == 0 {
    return nil
  }
  return &tree{grow(n - 1), grow(n - 1)}
}
func (t *tree) size() int {
  if t == nil {
    return 0
  }
  return 1 + t.l.size() + t.r.size()
}
func fault() (n int) {
  defer func() {
    if recover() != nil {
      n = 1
    }
  }()
  var p *int
  *p = 1
  return 0
}
func main() {
  var wg sync.WaitGroup
  var mu sync.Mutex
  sum := 0
  for i := 0; i < 300; i++ {
    wg.Add(1)
    go func(i int) {
      defer wg.Done()
      m := map[int]int{}
      for k := 0; k < 100; k++ {
        m[k] = k * i
      }
      n := grow(10).size() + len(m) + fault()
      mu.Lock()
      sum += n
      mu.Unlock()
    }(i)
  }
  wg.Wait()
  fmt.Println("sum", sum)
}
