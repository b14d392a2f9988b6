// SPDX-License-Identifier: MIT
//
// The terminal as a full screen: keys come one by one, and its former contents come back. However
// the program ends (return, exit, a signal that kills it), the terminal is left as it was found.
#pragma once

#include <termios.h>

#include <memory>
#include <string>

#include "base/result.h"

namespace patchbay::cmd {

inline constexpr int kKeyNone = 0, kKeyEscape = 27, kKeyUp = 1001, kKeyDown = 1002,
                     kKeyPageUp = 1003, kKeyPageDown = 1004, kKeyBackspace = 127;

class Terminal {
 public:
  // Fails when standard input or output is no terminal. There is one object at a time.
  static Result<std::unique_ptr<Terminal>> open();
  ~Terminal();

  struct Size {
    unsigned rows = 24, columns = 80;
  };
  Size size() const;  // now: it may be resized
  // Draws from the upper left corner. Lines end with \n, and are cut to the width. The screen below
  // them is erased.
  void show(const std::string& screen);
  // The next key, waiting for at most `timeout_ms`; kKeyNone: none came, or the size has changed.
  // `until`: another descriptor that ends the wait when it can be read; -1: none.
  int key(int timeout_ms, int until = -1);
  // Gives the terminal back while we are stopped (Ctrl-Z).
  void suspend();
  // A signal (SIGTERM, SIGHUP, SIGINT from elsewhere) asks us to end; so does a terminal that is
  // gone.
  bool ended() const;

 private:
  Terminal() = default;
  int next_byte(int timeout_ms, int until = -1);
  int escape_sequence();
};

}  // namespace patchbay::cmd
