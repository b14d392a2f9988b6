// SPDX-License-Identifier: MIT
#include "cmd/common/terminal.h"

#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/mapped_files.h"

namespace patchbay::cmd {
namespace {

// Alternate screen, no cursor, no line wrap; and back.
constexpr char kEnter[] = "\033[?1049h\033[?25l\033[?7l\033[2J";
constexpr char kLeave[] = "\033[?7h\033[?25h\033[?1049l";
constexpr int kDeadly[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGQUIT};
constexpr int kEnding[] = {SIGTERM, SIGHUP, SIGINT};

termios g_before;  // valid while g_open
struct sigaction g_deadly_before[SIGSEGV + 1];
volatile sig_atomic_t g_open = 0, g_ended = 0;

void write_all(const char* text, size_t size) {
  while (size > 0) {
    ssize_t count = ::write(STDOUT_FILENO, text, size);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return;
    text += count;
    size -= size_t(count);
  }
}

// Async-signal-safe, and nothing the second time.
void restore() {
  if (!g_open) return;
  g_open = 0;
  write_all(kLeave, sizeof kLeave - 1);
  ::tcsetattr(STDIN_FILENO, TCSANOW, &g_before);
}

void enter() {
  termios raw = g_before;
  raw.c_lflag &= ~tcflag_t(ICANON | ECHO | ISIG | IEXTEN);
  raw.c_iflag &= ~tcflag_t(IXON | ICRNL);
  raw.c_cc[VMIN] = 1;
  raw.c_cc[VTIME] = 0;
  ::tcsetattr(STDIN_FILENO, TCSANOW, &raw);
  g_open = 1;
  write_all(kEnter, sizeof kEnter - 1);
}

void set_handler(int signal, void (*handler)(int), int flags) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  ::sigaction(signal, &action, nullptr);
}

// A file that was cut short is no end (base/mapped_files.h).
void on_deadly(int number, siginfo_t* info, void*) {
  if (number == SIGBUS && fill_lost_page(*info)) return;
  restore();
  set_handler(number, SIG_DFL, 0);
  ::raise(number);
}

void watch_signals() {
  for (int signal : kDeadly) {
    struct sigaction action {};
    action.sa_sigaction = on_deadly;
    action.sa_flags = SA_SIGINFO;
    ::sigaction(signal, &action, &g_deadly_before[signal]);
  }
  for (int signal : kEnding)
    set_handler(
        signal, [](int) { g_ended = 1; }, 0);
  set_handler(
      SIGWINCH, [](int) {}, 0);  // ends poll()
}

}  // namespace

Result<std::unique_ptr<Terminal>> Terminal::open() {
  if (!::isatty(STDIN_FILENO) || !::isatty(STDOUT_FILENO) ||
      ::tcgetattr(STDIN_FILENO, &g_before) != 0)
    return user_error(ENOTTY, "Standard input and output are no terminal.");
  static const int registered = std::atexit(restore);
  (void)registered;
  watch_signals();
  enter();
  return std::unique_ptr<Terminal>(new Terminal);
}

Terminal::~Terminal() {
  restore();
  for (int signal : kDeadly) ::sigaction(signal, &g_deadly_before[signal], nullptr);
  for (int signal : kEnding) set_handler(signal, SIG_DFL, 0);
}

Terminal::Size Terminal::size() const {
  winsize window{};
  Size size;
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_row > 0 && window.ws_col > 0)
    size = {window.ws_row, window.ws_col};
  return size;
}

void Terminal::show(const std::string& screen) {
  std::string text = "\033[H";
  unsigned rows = size().rows, row = 0;
  for (size_t at = 0; at < screen.size() && row < rows; row++) {
    size_t end = std::min(screen.find('\n', at), screen.size());
    text.append(screen, at, end - at);
    text += row + 1 < rows ? "\033[K\r\n" : "\033[K";
    at = end + 1;
  }
  text += "\033[J";
  write_all(text.data(), text.size());
}

int Terminal::next_byte(int timeout_ms, int until) {
  pollfd polled[] = {{STDIN_FILENO, POLLIN, 0}, {until, POLLIN, 0}};
  if (::poll(polled, 2, timeout_ms) <= 0 || !polled[0].revents) return -1;
  unsigned char byte = 0;
  ssize_t count = ::read(STDIN_FILENO, &byte, 1);
  if (count == 0 || (count < 0 && errno == EIO)) g_ended = 1;  // hung up
  return count == 1 ? byte : -1;
}

// Behind ESC: "[A" and its like; nothing comes when it was the key itself.
int Terminal::escape_sequence() {
  int next = next_byte(25);
  if (next != '[' && next != 'O') return kKeyEscape;
  int number = 0;
  for (int length = 0; length < 8; length++) {
    int byte = next_byte(25);
    if (byte >= '0' && byte <= '9') {
      number = number * 10 + byte - '0';
      continue;
    }
    if (byte == 'A') return kKeyUp;
    if (byte == 'B') return kKeyDown;
    if (byte == '~' && number == 5) return kKeyPageUp;
    if (byte == '~' && number == 6) return kKeyPageDown;
    if (byte != ';') return kKeyNone;
  }
  return kKeyNone;
}

int Terminal::key(int timeout_ms, int until) {
  int byte = next_byte(timeout_ms, until);
  if (byte < 0) return kKeyNone;
  if (byte == '\033') return escape_sequence();
  return byte == 8 ? kKeyBackspace : byte;
}

void Terminal::suspend() {
  restore();
  ::raise(SIGSTOP);
  enter();
}

bool Terminal::ended() const { return g_ended != 0; }

}  // namespace patchbay::cmd
