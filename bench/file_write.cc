// SPDX-License-Identifier: MIT
//
// What open + write + close of one file costs, as a shell's `echo 1 > FILE` does them: for a file
// of a mounted tree, beside what bench/control measures at the socket. Least, middle and 99 % of
// COUNT in microseconds; the budget through FUSE is 150.
//
//   file_write FILE [TEXT [COUNT]]      (default: 1, 5,000)
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: file_write FILE [TEXT [COUNT]]\n");
    return 2;
  }
  const std::string text = std::string(argc > 2 ? argv[2] : "1") + "\n";
  std::vector<double> times(argc > 3 ? size_t(std::max(1, std::atoi(argv[3]))) : 5000);
  for (double& time : times) {
    auto start = std::chrono::steady_clock::now();
    int file = ::open(argv[1], O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (file < 0 || ::write(file, text.data(), text.size()) != ssize_t(text.size()) ||
        ::close(file) != 0) {
      std::perror(argv[1]);
      return 1;
    }
    std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
    time = took.count();
  }
  std::sort(times.begin(), times.end());
  std::printf("%s: least %.1f us, middle %.1f us, 99 %% %.1f us\n", argv[1], times[0],
              times[times.size() / 2], times[times.size() * 99 / 100]);
}
