;; SPDX-License-Identifier: MIT
(handler-case (labels ((f (n) (+ 1 (f (1+ n))))) (f 0))
  (storage-condition () (print :overflow)))
(print (length (loop for i below 200000 collect i)))
(terpri)
