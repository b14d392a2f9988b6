// SPDX-License-Identifier: MIT
//
// What one command costs through the socket: open, write, close of a small tracefs file, as three
// calls and as one message; and a stat, which is the bare round trip. The server runs in a thread
// of its own with private descriptors, as in the agent. Least and middle of 10,000 each, in
// microseconds; the budget of a command is 30.
#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <stdlib.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "base/check.h"
#include "serve/client.h"
#include "serve/server.h"

namespace patchbay {
namespace {

constexpr size_t kCommands = 10000;

class Switch : public tracefs::File {
 public:
  uint32_t mode() const override { return 0640; }
  Result<size_t> write(std::string_view bytes) override { return bytes.size(); }
};
class Root : public tracefs::Directory {
 public:
  std::vector<std::string> list() override { return {"tracing_on"}; }
  std::unique_ptr<tracefs::File> file(std::string_view name) override {
    return name == "tracing_on" ? std::make_unique<Switch>() : nullptr;
  }
  std::unique_ptr<Directory> directory(std::string_view) override { return nullptr; }
};

class Agent {
 public:
  Agent() {
    PB_CHECK(::mkdtemp(directory_.data()) != nullptr);
    thread_ = std::thread([this] {
      serve::private_descriptors();
      serve::ServerOptions options;
      options.directory = directory_;
      options.lock = &lock_;
      server_ = std::move(*serve::Server::create(root_, std::move(options)));
      ready_ = true;
      (void)server_->run();
    });
    while (!ready_) std::this_thread::yield();
  }
  ~Agent() {
    server_->stop();
    (void)server_->wake();
    thread_.join();
    server_.reset();
    ::rmdir(directory_.c_str());
  }
  std::unique_ptr<serve::Client> connect() {
    return std::move(*serve::Client::connect_directory(directory_));
  }

 private:
  std::string directory_ = "/tmp/pb-control-XXXXXX";
  Root root_;
  std::recursive_mutex lock_;
  std::atomic<bool> ready_{false};
  std::thread thread_;
  std::unique_ptr<serve::Server> server_;
};

void three_calls(serve::Client& client) {
  uint32_t handle = *client.open("tracing_on", O_WRONLY | O_TRUNC);
  PB_CHECK(*client.write(handle, "1\n") == 2);
  PB_CHECK(client.close(handle).ok());
}
void one_message(serve::Client& client) {
  PB_CHECK(client.write_all("tracing_on", "1\n", true).ok());
}
void round_trip(serve::Client& client) { PB_CHECK(client.stat("tracing_on").ok()); }

void measure(benchmark::State& state, void (*command)(serve::Client&)) {
  Agent agent;
  std::unique_ptr<serve::Client> client = agent.connect();
  std::vector<double> times;
  for (auto _ : state) {
    auto start = std::chrono::steady_clock::now();
    command(*client);
    std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
    times.push_back(took.count());
  }
  std::sort(times.begin(), times.end());
  state.counters["min_us"] = times.front();
  state.counters["median_us"] = times[times.size() / 2];
}
BENCHMARK_CAPTURE(measure, round_trip, round_trip)->Iterations(kCommands)->UseRealTime();
BENCHMARK_CAPTURE(measure, open_write_close, three_calls)->Iterations(kCommands)->UseRealTime();
BENCHMARK_CAPTURE(measure, one_message, one_message)->Iterations(kCommands)->UseRealTime();

}  // namespace
}  // namespace patchbay
