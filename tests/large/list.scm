;; SPDX-License-Identifier: MIT
(display (length (let loop ((i 0) (l (list))) (if (= i 100000) l (loop (+ i 1) (cons i l))))))
