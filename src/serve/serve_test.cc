// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <set>
#include <thread>

#include "serve/client.h"
#include "serve/directory.h"
#include "serve/server.h"
#include "serve/session.h"

namespace patchbay::serve {
namespace {

// A tree of three files: `log` appends what is written, one word a write; `text` is a megabyte to
// read; `sink` is only written and fails on the word `bad`. The directory `many` lists 20,000
// names.
struct Store {
  std::string log, pipe;
  bool ended = false;
  int flushes = 0;
  std::set<std::string> instances;
  std::string big = std::string(1 << 20, 'x');
};

class LogFile : public tracefs::File {
 public:
  explicit LogFile(Store& store) : store_(store) {}
  uint32_t mode() const override { return 0640; }
  Status open(uint32_t flags) override {
    if (flags & O_TRUNC) store_.log.clear();
    return {};
  }
  Result<std::string> read() override { return store_.log; }
  Result<size_t> write(std::string_view bytes) override {
    size_t taken = std::min(bytes.find(' '), bytes.size() - 1) + 1;
    store_.log += "[" + std::string(bytes.substr(0, taken)) + "]";
    return taken;
  }

 private:
  Store& store_;
};
class BigFile : public tracefs::File {
 public:
  explicit BigFile(Store& store) : store_(store) {}
  uint32_t mode() const override { return 0440; }
  Result<std::string> read() override { return store_.big; }

 private:
  Store& store_;
};
class Sink : public tracefs::File {
 public:
  uint32_t mode() const override { return 0200; }
  Result<size_t> write(std::string_view bytes) override {
    if (bytes.find("bad") != bytes.npos) return user_error(EDOM, "A bad word.\n   ^");
    return bytes.size();
  }
};
// Gives a line when somebody has written one into `pipe`, EAGAIN until then.
class PipeFile : public tracefs::File {
 public:
  explicit PipeFile(Store& store) : store_(store) {}
  uint32_t mode() const override { return 0640; }
  Result<std::string> read_next(size_t size, tracefs::ReadMode mode) override {
    if (store_.ended) return std::string();
    size_t least = mode == tracefs::ReadMode::kWholePage ? size : 1;
    if (store_.pipe.size() < least) return sys_error("read", EAGAIN);
    std::string text = store_.pipe.substr(0, size);
    store_.pipe.erase(0, size);
    return text;
  }
  Result<size_t> write_as(std::string_view bytes, const tracefs::Caller& caller) override {
    store_.pipe += std::to_string(caller.tid) + ":" + std::string(bytes);
    return bytes.size();
  }
  Status flush() override {
    store_.flushes++;
    return {};
  }
  bool readable() override { return !store_.pipe.empty(); }
  Status ioctl(uint32_t command) override {
    if (command != 0) return File::ioctl(command);
    store_.ended = true;
    return {};
  }
  uint64_t size() const override { return 1000; }

 private:
  Store& store_;
};
// Takes two seconds of work.
class SlowFile : public tracefs::File {
 public:
  uint32_t mode() const override { return 0440; }
  Result<std::string> read() override {
    const std::clock_t end = std::clock() + 2 * CLOCKS_PER_SEC;
    while (std::clock() < end) {
    }
    return std::string("worked\n");
  }
};
// Directories of one level that come and go.
class Instances : public tracefs::Directory {
 public:
  explicit Instances(Store& store) : store_(store) {}
  std::vector<std::string> list() override {
    std::vector<std::string> names;
    for (const std::string& name : store_.instances) names.push_back(name + "/");
    return names;
  }
  std::unique_ptr<tracefs::File> file(std::string_view) override { return nullptr; }
  std::unique_ptr<tracefs::Directory> directory(std::string_view name) override {
    bool there = store_.instances.count(std::string(name)) != 0;
    return there ? std::make_unique<NoEntries>() : nullptr;
  }
  Status make_directory(std::string_view name) override {
    if (store_.instances.insert(std::string(name)).second) return {};
    return user_error(EEXIST, "There is one already.");
  }
  Status remove_directory(std::string_view name) override {
    if (store_.instances.erase(std::string(name))) return {};
    return user_error(ENOENT, "There is none.");
  }

 private:
  class NoEntries : public tracefs::Directory {
   public:
    std::vector<std::string> list() override { return {}; }
    std::unique_ptr<tracefs::File> file(std::string_view) override { return nullptr; }
    std::unique_ptr<Directory> directory(std::string_view) override { return nullptr; }
  };
  Store& store_;
};
class TestTree : public tracefs::Directory {
 public:
  explicit TestTree(Store& store, bool many = false) : store_(store), many_(many) {}
  std::vector<std::string> list() override {
    if (!many_) return {"instances/", "log", "many/", "pipe", "sink", "text"};
    std::vector<std::string> names;
    for (int i = 0; i < 20000; i++) names.push_back("event" + std::to_string(i) + "/");
    return names;
  }
  std::unique_ptr<tracefs::File> file(std::string_view name) override {
    if (name == "log") return std::make_unique<LogFile>(store_);
    if (name == "text") return std::make_unique<BigFile>(store_);
    if (name == "sink") return std::make_unique<Sink>();
    if (name == "pipe") return std::make_unique<PipeFile>(store_);
    if (name == "slow") return std::make_unique<SlowFile>();
    return nullptr;
  }
  std::unique_ptr<tracefs::Directory> directory(std::string_view name) override {
    if (name == "instances") return std::make_unique<Instances>(store_);
    return name == "many" ? std::make_unique<TestTree>(store_, true) : nullptr;
  }

 private:
  Store& store_;
  bool many_;
};

std::string make_temporary() {
  const char* base = std::getenv("TMPDIR");
  std::string name = std::string(base ? base : "/tmp") + "/pb-serve-XXXXXX";
  EXPECT_NE(::mkdtemp(name.data()), nullptr);
  return name;
}

// "[a][bc]" -> "a", "bc".
std::vector<std::string> split_parts(std::string_view log) {
  std::vector<std::string> parts;
  while (!log.empty()) {
    size_t end = log.find(']');
    parts.emplace_back(log.substr(1, end - 1));
    log.remove_prefix(end + 1);
  }
  return parts;
}

// A server in a thread, over a directory of its own.
class ServeTest : public ::testing::Test {
 protected:
  void start(std::string directory, bool private_table = false) {
    directory_ = std::move(directory);
    std::atomic<bool> ready{false};
    thread_ = std::thread([this, &ready, private_table] {
      EXPECT_TRUE(!private_table || private_descriptors());
      ServerOptions options;
      options.directory = directory_;
      options.hooks.resume = [this] { resumed_++; };
      options.hooks.exe = "/bin/test";
      options.hooks.open_buffer = []() -> Result<UniqueFd> {
        return UniqueFd(::open("/dev/zero", O_RDONLY | O_CLOEXEC));
      };
      options.lock = &lock_;
      options.periodic = [this] { return periodic_++, -1; };
      if (may_detach_) options.detach = [this] { return detach_answer_; };
      auto server = Server::create(tree_, std::move(options));
      ASSERT_TRUE(server.ok()) << server.error().message();
      server_ = std::move(*server);
      ready = true;
      EXPECT_TRUE(server_->run().ok());
    });
    while (!ready) std::this_thread::yield();
  }
  void TearDown() override {
    if (!thread_.joinable()) return;
    server_->stop();
    (void)server_->wake();  // may have seen stop() before
    thread_.join();
  }
  std::unique_ptr<Client> connect() {
    auto client = Client::connect_directory(directory_);
    EXPECT_TRUE(client.ok()) << client.error().message();
    return client.ok() ? std::move(*client) : nullptr;
  }

  Store store_;
  TestTree tree_{store_};
  std::string directory_;
  std::thread thread_;
  std::unique_ptr<Server> server_;
  std::atomic<int> resumed_{0}, periodic_{0};
  std::recursive_mutex lock_;
  bool may_detach_ = false;
  Status detach_answer_;
};

TEST_F(ServeTest, AnAgentThatStaysRefusesToDetach) {
  start(make_temporary());
  auto client = connect();
  ASSERT_TRUE(client);
  EXPECT_EQ(client->detach().error().errno_value, EINVAL);
  EXPECT_EQ(client->read_all("text")->size(), store_.big.size());  // the connection works on
}

TEST_F(ServeTest, DetachHandsTheConnectionOver) {
  may_detach_ = true;
  start(make_temporary());
  auto client = connect();
  ASSERT_TRUE(client);
  {
    auto other = connect();
    ASSERT_TRUE(other);
    EXPECT_EQ(client->detach().error().errno_value, EBUSY);
  }
  auto gone = connect();
  gone.reset();  // only waits to be dropped
  detach_answer_ = user_error(EDOM, "not now");
  EXPECT_EQ(client->detach().error().message(), "not now");
  detach_answer_ = {};
  Result<UniqueFd> ours = client->detach();
  ASSERT_TRUE(ours.ok()) << ours.error().message();
  thread_.join();
  UniqueFd theirs = server_->take_handed_over();
  ASSERT_TRUE(theirs.valid());
  EXPECT_FALSE(server_->take_handed_over().valid());
  ASSERT_EQ(::send(theirs.get(), "word", 4, 0), 4);
  char word[8] = {};
  EXPECT_EQ(::recv(ours->get(), word, sizeof word, 0), 4);
  EXPECT_STREQ(word, "word");
}

TEST_F(ServeTest, PrivateDescriptorsKeepOne) {
  std::thread([] {
    int pipe[2];
    ASSERT_EQ(::pipe(pipe), 0);
    int kept = pipe[0];
    ASSERT_TRUE(private_descriptors(&kept));
    EXPECT_GE(kept, 3);
    EXPECT_EQ(::fcntl(kept, F_GETFD) & ~FD_CLOEXEC, 0);
    for (int fd = 3; fd < 1024; fd++) EXPECT_EQ(::fcntl(fd, F_GETFD) == -1, fd != kept) << fd;
    for (int fd : {0, 1, 2}) EXPECT_NE(::fcntl(fd, F_GETFD), -1);
  }).join();
}

TEST_F(ServeTest, CallsTravelBothWays) {
  start(make_temporary());
  auto client = connect();
  ASSERT_TRUE(client);
  EXPECT_EQ(client->pid(), ::getpid());
  EXPECT_EQ(client->exe(), "/bin/test");
  ASSERT_TRUE(client->write_all("log", "one two three\n", true).ok());
  EXPECT_EQ(store_.log, "[one ][two ][three\n]");
  ASSERT_TRUE(client->write_all("log", "four", false).ok());
  EXPECT_EQ(*client->read_all("log"), "[one ][two ][three\n][four]");
  EXPECT_EQ(client->read_all("text")->size(), store_.big.size());
  EXPECT_EQ(client->list("")->size(), 6u);
  EXPECT_EQ(client->list("many")->size(), 20000u);
  EXPECT_EQ(client->list("many")->back(), "event19999/");
  ASSERT_TRUE(client->resume().ok());
  EXPECT_EQ(resumed_, 1);
  auto buffer = client->open_buffer();
  ASSERT_TRUE(buffer.ok());
  char byte = 1;
  EXPECT_EQ(::read(buffer->get(), &byte, 1), 1);
  EXPECT_EQ(byte, 0);
}

TEST_F(ServeTest, ErrorsCarryTheSentence) {
  start(make_temporary());
  auto client = connect();
  ASSERT_TRUE(client);
  const struct {
    Status status;
    int error;
  } table[] = {
      {client->write_all("sink", "bad", false), EDOM},
      {client->write_all("text", "x", false), ::geteuid() == 0 ? EINVAL : EACCES},
      {client->write_all("many", "x", false), EISDIR},
      {client->write_all("no", "x", false), ENOENT},
      {client->close(7), EBADF},
  };
  for (const auto& row : table) {
    ASSERT_FALSE(row.status.ok());
    EXPECT_EQ(row.status.error().errno_value, row.error) << row.status.error().message();
  }
  EXPECT_EQ(table[0].status.error().message(), "A bad word.\n   ^");
  EXPECT_EQ(client->read_all("sink").error().errno_value, ::geteuid() == 0 ? EINVAL : EACCES);
  EXPECT_EQ(client->list("log").error().errno_value, ENOTDIR);
}

TEST_F(ServeTest, DirectoriesStatFlushPollAndIoctl) {
  start(make_temporary());
  auto client = connect();
  ASSERT_TRUE(client);
  EXPECT_EQ(client->stat("")->mode, S_IFDIR | 0750u);
  EXPECT_EQ(client->stat("pipe")->mode, S_IFREG | 0640u);
  EXPECT_EQ(client->stat("pipe")->size, 1000u);
  EXPECT_EQ(client->stat("no").error().errno_value, ENOENT);
  EXPECT_TRUE(client->make_directory("instances/a.B").ok());
  EXPECT_EQ(client->make_directory("instances/a.B").error().errno_value, EEXIST);
  EXPECT_EQ(client->make_directory("x").error().errno_value, EPERM);
  EXPECT_EQ(client->make_directory("no/x").error().errno_value, ENOENT);
  EXPECT_EQ(client->make_directory("log/x").error().errno_value, ENOTDIR);
  EXPECT_EQ(client->make_directory("instances/..").error().errno_value, EINVAL);
  EXPECT_EQ(*client->list("instances"), std::vector<std::string>{"a.B/"});
  EXPECT_TRUE(client->remove_directory("instances/a.B").ok());
  EXPECT_EQ(client->remove_directory("instances/a.B").error().errno_value, ENOENT);
  EXPECT_EQ(client->remove_directory("many").error().errno_value, EPERM);
  Result<uint32_t> handle = client->open("pipe", O_RDWR);
  ASSERT_TRUE(handle.ok());
  EXPECT_FALSE(*client->readable(*handle));
  EXPECT_EQ(client->read(*handle, 10).error().errno_value, EAGAIN);
  EXPECT_EQ(*client->write(*handle, "line", 77), 4u);
  EXPECT_TRUE(*client->readable(*handle));
  EXPECT_EQ(client->read(*handle, 10, tracefs::ReadMode::kWholePage).error().errno_value, EAGAIN);
  EXPECT_EQ(*client->read(*handle, 7, tracefs::ReadMode::kWholePage), "77:line");
  EXPECT_EQ(client->ioctl(*handle, 5).error().errno_value, ENOTTY);
  EXPECT_TRUE(client->ioctl(*handle, 0).ok());
  EXPECT_EQ(*client->read(*handle, 10), "");
}

TEST_F(ServeTest, CloseFlushesUnlessFlushedSinceTheLastWrite) {
  start(make_temporary());
  auto client = connect();
  ASSERT_TRUE(client);
  ASSERT_TRUE(client->write_all("pipe", "x", false).ok());
  EXPECT_EQ(store_.flushes, 1);
  uint32_t handle = *client->open("pipe", O_WRONLY);
  ASSERT_TRUE(client->write(handle, "x").ok());
  ASSERT_TRUE(client->flush(handle).ok());
  ASSERT_TRUE(client->close(handle).ok());
  EXPECT_EQ(store_.flushes, 2);
  handle = *client->open("pipe", O_WRONLY);
  ASSERT_TRUE(client->flush(handle).ok());
  ASSERT_TRUE(client->write(handle, "x").ok());
  ASSERT_TRUE(client->close(handle).ok());
  EXPECT_EQ(store_.flushes, 4);
}

TEST_F(ServeTest, AWaitingReadEndsWithDataAStopOrTheAgent) {
  start(make_temporary());
  auto reader = connect(), writer = connect();
  ASSERT_TRUE(reader && writer);
  uint32_t handle = *reader->open("pipe", O_RDONLY);
  int asked = 0;
  auto write_at_third = [&] {
    if (++asked == 3) (void)writer->write_all("pipe", "now", false);
    return false;
  };
  EXPECT_EQ(*reader->read_waiting(handle, 100, write_at_third), "0:now");
  EXPECT_EQ(asked, 3);
  Result<std::string> stopped = reader->read_waiting(handle, 100, [] { return true; });
  EXPECT_EQ(stopped.error().errno_value, EINTR);
  EXPECT_EQ(*reader->read_all("pipe"), "");  // a file that would wait ends
  EXPECT_FALSE(reader->gone());
  auto stop_server = [this] {
    if (!server_) return false;
    server_->stop();
    (void)server_->wake();
    thread_.join();
    server_.reset();
    return false;
  };
  EXPECT_EQ(*reader->read_waiting(handle, 100, stop_server), "");
  EXPECT_TRUE(reader->gone());
}

// --- a process that does not answer

// A server in a process of its own, whose socket is `directory`/ctl.sock. It ends with this object.
class ServerProcess {
 public:
  explicit ServerProcess(const std::string& directory) {
    pid_ = ::fork();
    if (pid_ != 0) return;
    ::prctl(PR_SET_NAME, kControlThreadName);
    Store store;
    TestTree tree(store);
    ServerOptions options;
    options.directory = directory;
    auto server = Server::create(tree, std::move(options));
    if (server.ok()) (void)(*server)->run();
    ::_exit(1);
  }
  ~ServerProcess() {
    signal(SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  int pid() const { return pid_; }
  void signal(int number) { ::kill(pid_, number); }
  void stop() {
    signal(SIGSTOP);
    int status = 0;
    ASSERT_EQ(::waitpid(pid_, &status, WUNTRACED), pid_);
    ASSERT_TRUE(WIFSTOPPED(status));
  }

 private:
  int pid_;
};

std::unique_ptr<Client> connect_when_ready(const std::string& directory) {
  for (int i = 0; i < 2000; i++) {
    auto client = Client::connect_directory(directory);
    if (client.ok()) return std::move(*client);
    ::usleep(10000);
  }
  return nullptr;
}

TEST(SilentTest, AStoppedProcessIsNamedAndServesOnWhenItGoesOn) {
  const std::string directory = make_temporary();
  ServerProcess process(directory);
  auto client = connect_when_ready(directory);
  ASSERT_TRUE(client);
  const uint32_t pipe = *client->open("pipe", O_RDWR);
  ASSERT_TRUE(client->write(pipe, "one\n").ok());
  process.stop();
  // The read is sent, and is owed its answer.
  Result<std::string> read = client->read(pipe, 3);
  ASSERT_FALSE(read.ok());
  EXPECT_TRUE(is_silent(read.error()));
  EXPECT_NE(read.error().message().find("is stopped"), std::string::npos);
  EXPECT_NE(read.error().message().find(std::to_string(process.pid())), std::string::npos);
  // What changes something is not even sent.
  EXPECT_TRUE(is_silent(client->write_all("log", "late ", true).error()));
  EXPECT_TRUE(is_silent(client->open("log", O_RDONLY).error()));
  EXPECT_TRUE(is_silent(client->close(pipe + 7).error()));  // later, unheard
  EXPECT_FALSE(client->gone());
  Result<std::unique_ptr<Client>> another = Client::connect_directory(directory);
  ASSERT_FALSE(another.ok());
  EXPECT_NE(another.error().message().find("is stopped"), std::string::npos);
  process.signal(SIGCONT);
  // Nothing that was read meanwhile is lost, nothing that failed was done, no handle was leaked.
  EXPECT_EQ(*client->read(pipe, 2), "0:");
  EXPECT_EQ(*client->read(pipe, 100), "o");
  EXPECT_EQ(*client->read(pipe, 100), "ne\n");
  EXPECT_EQ(*client->read_all("log"), "");
  EXPECT_EQ(*client->open("log", O_RDONLY), pipe + 1);
  EXPECT_TRUE(client->write_all("log", "now ", true).ok());
}

TEST(SilentTest, ALateOpenIsClosed) {
  const std::string directory = make_temporary();
  ServerProcess process(directory);
  auto client = connect_when_ready(directory);
  ASSERT_TRUE(client);
  process.stop();
  EXPECT_TRUE(is_silent(client->open("log", O_RDONLY).error()));
  process.signal(SIGCONT);
  EXPECT_EQ(*client->open("log", O_RDONLY), 1u);
}

TEST(SilentTest, AMuteServerIsNotWaitedFor) {
  const std::string directory = make_temporary();
  const pid_t pid = ::fork();
  if (pid == 0) {
    auto listener = listen_socket(directory);
    for (;;) ::pause();
  }
  while (!connect_socket(directory).ok()) ::usleep(1000);
  Result<std::unique_ptr<Client>> client = Client::connect_directory(directory);
  ASSERT_FALSE(client.ok());
  EXPECT_TRUE(is_silent(client.error())) << client.error().message();
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
}

TEST(SilentTest, AnAgentThatWorksIsWaitedFor) {
  const std::string directory = make_temporary();
  ServerProcess process(directory);
  auto client = connect_when_ready(directory);
  ASSERT_TRUE(client);
  EXPECT_EQ(*client->read_all("slow"), "worked\n");
}

// Up to the message's limit in one piece; a longer text in several, each of whole lines.
TEST_F(ServeTest, LongTextsAreSplitAtLines) {
  start(make_temporary());
  auto client = connect();
  ASSERT_TRUE(client);
  std::string line = std::string(99, 'a') + "\n", text;
  for (int i = 0; i < 3000; i++) text += line;
  ASSERT_TRUE(client->write_all("log", text, true).ok());
  for (const std::string& part : split_parts(store_.log)) EXPECT_EQ(part.size() % 100, 0u);
  std::string longest(Client::kMaxWrite - 4, 'b');
  ASSERT_TRUE(client->write_all("log", longest, true).ok());
  EXPECT_EQ(store_.log, "[" + longest + "]");
}

TEST_F(ServeTest, HandlesAndClientsAreBounded) {
  start(make_temporary());
  auto client = connect();
  ASSERT_TRUE(client);
  for (size_t i = 0; i < kMaxHandles; i++) ASSERT_TRUE(client->open("log", O_RDONLY).ok());
  EXPECT_EQ(client->open("log", O_RDONLY).error().errno_value, EMFILE);
  ASSERT_TRUE(client->close(5).ok());
  EXPECT_EQ(*client->open("log", O_RDONLY), 5u);
  std::vector<std::unique_ptr<Client>> others;
  for (size_t i = 1; i < kMaxClients; i++) others.push_back(connect());
  EXPECT_FALSE(Client::connect_directory(directory_).ok());
  others.clear();
  ASSERT_TRUE(client->close(9).ok());
  auto text = client->read_all("log");
  EXPECT_TRUE(text.ok());  // the server still serves who is in
}

TEST_F(ServeTest, ALongPathIsReached) {
  std::string directory = make_temporary();
  for (int i = 0; i < 4; i++) {
    directory += "/" + std::string(60, char('a' + i));
    ASSERT_EQ(::mkdir(directory.c_str(), 0700), 0);
  }
  start(directory, true);
  EXPECT_TRUE(connect());
  struct stat status;
  ASSERT_EQ(::stat((directory + "/ctl.sock").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0600u);
}

TEST_F(ServeTest, PrivateDescriptorsLeaveTheProgramAlone) {
  UniqueFd before(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  start(make_temporary(), true);
  EXPECT_TRUE(connect());
  UniqueFd after(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  EXPECT_EQ(after.get(), before.get() + 1);
}

// The program closes everything: the socket's number then belongs to a file of the program, which
// the server must neither read nor close, and a new socket appears.
TEST_F(ServeTest, AClosedListenerIsMadeAgain) {
  std::string directory = make_temporary();
  UniqueFd probe(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  int listener = probe.get();
  probe.reset();
  start(directory);
  struct stat status;
  ASSERT_EQ(::fstat(listener, &status), 0);
  ASSERT_TRUE(S_ISSOCK(status.st_mode));
  // In one step: between a close and an open the server could take the number back itself.
  UniqueFd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  ASSERT_EQ(::dup3(null.get(), listener, O_CLOEXEC), listener);
  UniqueFd other(listener);
  // The path is gone for a moment while the server makes it again.
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  bool answers = false;
  while (!answers && std::chrono::steady_clock::now() < end) {
    answers = Client::connect_directory(directory).ok();
    if (!answers) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_TRUE(answers);
  ASSERT_EQ(::fstat(listener, &status), 0);
  EXPECT_TRUE(S_ISCHR(status.st_mode));
}

TEST_F(ServeTest, WakeRunsThePeriodicCall) {
  start(make_temporary());
  auto client = connect();  // answered: run() has passed its first periodic call
  int before = periodic_;
  ASSERT_TRUE(server_->wake());
  while (periodic_ == before) std::this_thread::yield();
}

// --- requests as bytes

std::string request_bytes(uint32_t call, uint32_t handle, uint32_t flags, uint64_t value,
                          std::string_view data) {
  Request request{call, handle, flags, 0, value};
  return std::string(reinterpret_cast<const char*>(&request), sizeof request) + std::string(data);
}

int32_t error_of(const SessionReply& reply) {
  Reply header{};
  EXPECT_GE(reply.message.size(), sizeof header);
  std::memcpy(&header, reply.message.data(), std::min(sizeof header, reply.message.size()));
  return header.error;
}

TEST(Session, RefusesWhatIsNoRequest) {
  Store store;
  TestTree tree(store);
  SessionHooks hooks;
  Session session(tree, hooks);
  EXPECT_TRUE(session.handle("").message.empty());
  EXPECT_TRUE(session.handle(std::string(sizeof(Request) - 1, '\0')).message.empty());
  EXPECT_TRUE(session.handle(std::string(kMaxMessage + 1, '\1')).message.empty());
  const struct {
    std::string bytes;
    int error;
  } table[] = {
      {request_bytes(0, 0, 0, 0, ""), ENOSYS},
      {request_bytes(99, 0, 0, 0, ""), ENOSYS},
      {request_bytes(1, 0, 0, kProtocolVersion + 1, ""), EPROTO},
      {request_bytes(1, 0, 0, kProtocolVersion, ""), 0},
      {request_bytes(1, 0, 0, kProtocolVersion - 1, ""), EPROTO},
      {request_bytes(3, 1, 0, 10, "data"), EINVAL},
      {request_bytes(2, 0, 3, 0, "log"), EINVAL},
      {request_bytes(2, 0, O_CREAT, 0, "log"), EINVAL},
      {request_bytes(2, 0, 0, 0, std::string("l\0g", 3)), EINVAL},
      {request_bytes(2, 0, 0, 0, std::string(5000, 'a')), ENAMETOOLONG},
      {request_bytes(2, 0, 0, 0, "../log"), EINVAL},
      {request_bytes(2, 0, 0, 0, "buffer"), ENOENT},  // no hook
      {request_bytes(3, 0, 0, 10, ""), EBADF},
      {request_bytes(3, 65, 0, 10, ""), EBADF},
      {request_bytes(4, ~0u, 0, 10, "x"), EBADF},
      {request_bytes(6, 0, 0, ~0ull, "many"), 0},
      {request_bytes(7, 0, 0, 0, ""), 0},
      {request_bytes(2, 0, O_RDONLY, 0, "log"), 0},
      {request_bytes(4, 1, 0, 0, "x"), EBADF},
      {request_bytes(3, 1, 0, ~0ull, ""), 0},
      {request_bytes(3, 1, 2, 1, ""), EINVAL},
      {request_bytes(8, 0, 0, 0, "log"), 0},
      {request_bytes(8, 0, 0, 0, "log/"), ENOTDIR},
      {request_bytes(9, 0, 0, 0, ""), EINVAL},
      {request_bytes(9, 0, 0, 0, "instances/"), EINVAL},
      {request_bytes(10, 0, 0, 0, std::string("instances/\0", 11)), EINVAL},
      {request_bytes(11, 1, 0, 0, ""), 0},
      {request_bytes(11, 2, 0, 0, ""), EBADF},
      {request_bytes(12, 1, 0, 0, "x"), EINVAL},
      {request_bytes(13, 1, 0, 0x5401, ""), ENOTTY},
      {request_bytes(14, 0, O_WRONLY, 0, "log"), EINVAL},
      {request_bytes(14, 0, O_RDONLY, 0, std::string("log\0x", 5)), EBADF},
      {request_bytes(14, 0, O_WRONLY, 0, std::string("log\0x", 5)), 0},
      {request_bytes(14, 0, O_WRONLY, 0, std::string("\0x", 2)), EISDIR},
      {request_bytes(15, 0, 0, 0, ""), ENOSYS},
  };
  for (const auto& row : table) {
    EXPECT_EQ(error_of(session.handle(row.bytes)), row.error) << &row - table;
  }
}

// --- the runtime directory

TEST(Directory, OnlyOursIsTaken) {
  std::string base = make_temporary();
  EXPECT_TRUE(check_directory(base, false).ok());
  EXPECT_TRUE(check_directory(base + "/new", true).ok());
  struct stat status;
  ASSERT_EQ(::stat((base + "/new").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700u);
  ASSERT_EQ(::symlink(base.c_str(), (base + "/link").c_str()), 0);
  EXPECT_EQ(check_directory(base + "/link", true).error().errno_value, EPERM);
  ASSERT_EQ(::mkdir((base + "/open").c_str(), 0700), 0);
  ASSERT_EQ(::chmod((base + "/open").c_str(), 0777), 0);
  EXPECT_EQ(check_directory(base + "/open", true).error().errno_value, EPERM);
  EXPECT_EQ(check_directory(base + "/missing", false).error().errno_value, ENOENT);
  if (::geteuid() != 0) GTEST_SKIP() << "a directory of somebody else can be made by root only";
  ASSERT_EQ(::mkdir((base + "/other").c_str(), 0700), 0);
  ASSERT_EQ(::chown((base + "/other").c_str(), 12345, 12345), 0);
  EXPECT_EQ(check_directory(base + "/other", true).error().errno_value, EPERM);
  ASSERT_EQ(::setenv("PATCHBAY_DIR", (base + "/other").c_str(), 1), 0);
  EXPECT_TRUE(runtime_directory(false).ok()) << "root may look";
  auto made = runtime_directory(true);
  ::unsetenv("PATCHBAY_DIR");
  ASSERT_FALSE(made.ok()) << "root makes nothing where another user can put symbolic links";
  EXPECT_EQ(made.error().errno_value, EPERM);
  EXPECT_NE(made.error().message().find("belongs to user 12345"), std::string::npos);
}

TEST(Directory, AnEarlierRecordingIsKept) {
  std::string base = make_temporary();
  auto first = make_process_directory(base, 4000000);
  ASSERT_TRUE(first.ok());
  UniqueFd buffer(::open((*first + "/buffer").c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
  ASSERT_EQ(::write(buffer.get(), "x", 1), 1);
  ASSERT_TRUE(make_process_directory(base, 4000000).ok());
  auto entries = list_processes(base);
  ASSERT_TRUE(entries.ok());
  ASSERT_EQ(entries->size(), 2u);
  EXPECT_EQ((*entries)[0].directory, base + "/4000000");
  EXPECT_FALSE((*entries)[0].has_buffer);
  EXPECT_EQ((*entries)[1].directory, base + "/4000000.1");
  EXPECT_TRUE((*entries)[1].has_buffer);
  EXPECT_EQ((*entries)[1].state, ProcessState::kDead);
  // An empty directory is not kept.
  ASSERT_TRUE(make_process_directory(base, 4000000).ok());
  EXPECT_EQ(list_processes(base)->size(), 2u);
}

// A recorder takes the directory of the program before, and removes it, while the next program of
// the process is about to move it away.
TEST(Directory, OneThatIsTakenAwayMeanwhileIsNoError) {
  std::string base = make_temporary();
  auto first = make_process_directory(base, 4000000);
  ASSERT_TRUE(first.ok());
  std::ofstream(*first + "/buffer") << "x";
  int asked = 0;
  const auto same_program = [&] {
    if (asked++ == 0) std::filesystem::remove_all(*first);
    return true;
  };
  auto second = make_process_directory(base, 4000000, same_program);
  ASSERT_TRUE(second.ok()) << second.error().message();
  EXPECT_EQ(*second, *first);
  EXPECT_EQ(list_processes(base)->size(), 1u);
  EXPECT_EQ(asked, 1);
}

TEST(Directory, MissingIsAnEmptyList) {
  EXPECT_TRUE(list_processes("/nonexistent/patchbay")->empty());
}

TEST(Client, SaysWhatToDoWithoutAnAgent) {
  std::string base = make_temporary();
  ASSERT_EQ(::setenv("PATCHBAY_DIR", base.c_str(), 1), 0);
  auto client = Client::connect(::getpid());
  ::unsetenv("PATCHBAY_DIR");
  ASSERT_FALSE(client.ok());
  EXPECT_EQ(client.error().errno_value, ESRCH);
  EXPECT_NE(client.error().message().find("patchbay attach"), std::string::npos);
}

}  // namespace
}  // namespace patchbay::serve
