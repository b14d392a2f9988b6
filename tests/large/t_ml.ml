(* SPDX-License-Identifier: MIT *)
let rec deep n = 1 + deep (n + 1)
let rec fib n = if n < 2 then 1 else fib (n - 1) + fib (n - 2)
let () =
  let l = ref [] in
  for i = 1 to 300000 do l := (i, string_of_int i) :: !l; if i mod 5000 = 0 then l := [] done;
  Printf.printf "%d %d\n%!" (fib 20) (List.length !l);
  (try ignore (deep 0) with Stack_overflow -> print_endline "SO");
  exit 4
