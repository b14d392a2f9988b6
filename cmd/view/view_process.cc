// SPDX-License-Identifier: MIT
//
//   attach, set up                      live_process.h; taken back at the end
//   serve                               loopback_server.h
//     GET /       the page, with the newest events, as `patchbay view` writes it
//     GET /live   what the page asks for once a second, as JSON
//   Ctrl-C                              the process is left as it was found
#include "cmd/view/view_process.h"

#include <cstdio>
#include <memory>

#include "cmd/common/commands.h"
#include "cmd/common/print_file.h"
#include "cmd/common/run_time.h"
#include "cmd/view/loopback_server.h"
#include "cmd/view/page_text.h"

namespace patchbay::cmd {
namespace {

constexpr int kLookMs = 100;  // between looks for Ctrl-C and the end of the process

HttpAnswer page_answer(LiveProcess& process) {
  Result<RecordingPage> page = process.page();
  if (!page.ok()) return {503, "text/plain; charset=utf-8", page.error().message() + "\n"};
  HttpAnswer answer{200, "text/html; charset=utf-8", ""};
  (void)write_page(
      page->payload,
      [&](std::string_view text) {
        answer.body += text;
        return true;
      },
      PageKind::kLive);
  return answer;
}

HttpAnswer answer_to(std::string_view path, LiveProcess& process) {
  if (path == "/") return page_answer(process);
  if (path == "/live") return {200, "application/json", process.state()};
  return {404, "text/plain; charset=utf-8", "There is nothing here.\n"};
}

}  // namespace

int view_process(int pid, uint16_t port, LiveChoice choice) {
  WatchedProgram target;
  if (Status attached = target.attach(pid); !attached.ok()) return fail("view", attached.error());
  stop_on_interrupt();
  target.attachment.deliver_signals();
  LiveProcess process(std::move(choice), target);
  if (Status started = process.start(); !started.ok()) return fail("view", started.error());
  auto server =
      LoopbackServer::start(port, [&](std::string_view path) { return answer_to(path, process); });
  if (!server.ok()) return fail("view", server.error());
  (void)process.state();  // there is something to show, should the process end at once
  const bool is_printed =
      std::printf("%s\n", (*server)->url().c_str()) > 0 && std::fflush(stdout) == 0;
  if (!is_printed) return fail("view", "the address of the page cannot be printed");
  std::fprintf(stderr, "[ patchbay view: %s at this address, on this machine only; Ctrl-C ends ]\n",
               one_line(process.name()).c_str());
  run_time_begins();
  for (bool has_ended = false; !interrupted();) {
    (*server)->run(kLookMs);
    if (has_ended || !target.ended()) continue;
    has_ended = true;
    std::fprintf(stderr, "[ patchbay view: %s has ended; the page stays until Ctrl-C ]\n",
                 one_line(process.name()).c_str());
  }
  return kOk;
}

}  // namespace patchbay::cmd
