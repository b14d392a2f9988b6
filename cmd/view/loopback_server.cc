// SPDX-License-Identifier: MIT
#include "cmd/view/loopback_server.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <sys/random.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdio>
#include <utility>

#include "base/unique_fd.h"

namespace patchbay::cmd {
namespace {

constexpr unsigned kConnections = 32, kIdleSeconds = 30;

// What we call of the library.
struct Library {
  decltype(&MHD_start_daemon) start_daemon;
  decltype(&MHD_stop_daemon) stop_daemon;
  decltype(&MHD_run_wait) run_wait;
  decltype(&MHD_create_response_from_buffer) create_response;
  decltype(&MHD_add_response_header) add_header;
  decltype(&MHD_queue_response) queue_response;
  decltype(&MHD_destroy_response) destroy_response;
  decltype(&MHD_lookup_connection_value) lookup_value;
};

template <typename Function>
bool find(void* library, const char* name, Function* function) {
  *function = reinterpret_cast<Function>(::dlsym(library, name));
  return *function != nullptr;
}

// Null: it is not installed, or is too old. It stays loaded.
const Library* load_library() {
  static Library calls;
  void* library = ::dlopen("libmicrohttpd.so.12", RTLD_NOW | RTLD_LOCAL);
  const bool is_whole = library && find(library, "MHD_start_daemon", &calls.start_daemon) &&
                        find(library, "MHD_stop_daemon", &calls.stop_daemon) &&
                        find(library, "MHD_run_wait", &calls.run_wait) &&
                        find(library, "MHD_create_response_from_buffer", &calls.create_response) &&
                        find(library, "MHD_add_response_header", &calls.add_header) &&
                        find(library, "MHD_queue_response", &calls.queue_response) &&
                        find(library, "MHD_destroy_response", &calls.destroy_response) &&
                        find(library, "MHD_lookup_connection_value", &calls.lookup_value);
  return is_whole ? &calls : nullptr;
}

const Library* g_library;

// 32 hexadecimal digits; empty: the kernel has no random bits.
std::string random_token() {
  unsigned char bits[16];
  if (::getrandom(bits, sizeof bits, 0) != ssize_t(sizeof bits)) return "";
  std::string token;
  char digits[3];
  for (unsigned char byte : bits) {
    std::snprintf(digits, sizeof digits, "%02x", byte);
    token += digits;
  }
  return token;
}

// The time does not tell how much of it is right.
bool is_equal(std::string_view given, std::string_view secret) {
  if (given.size() != secret.size()) return false;
  unsigned differ = 0;
  for (size_t i = 0; i < secret.size(); i++)
    differ |= unsigned(static_cast<unsigned char>(given[i] ^ secret[i]));
  return differ == 0;
}

// `port`: 0, or what was asked for; then what it is.
Result<UniqueFd> listen_on_loopback(uint16_t* port) {
  UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid()) return sys_error("make a socket", errno);
  const int on = 1;
  (void)::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(*port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* plain = reinterpret_cast<sockaddr*>(&address);
  socklen_t size = sizeof address;
  if (::bind(fd.get(), plain, size) != 0 || ::listen(fd.get(), int(kConnections)) != 0 ||
      ::getsockname(fd.get(), plain, &size) != 0)
    return sys_error("listen on 127.0.0.1 port " + std::to_string(*port), errno);
  *port = ntohs(address.sin_port);
  return fd;
}

// The library calls this with the head of a request, with each piece of its body, and at its end.
MHD_Result take_request(void* server, MHD_Connection* connection, const char* url,
                        const char* method, const char*, const char*, size_t* body, void** state) {
  static char seen;
  if (!*state) {
    *state = &seen;
    return MHD_YES;
  }
  if (*body != 0) {  // nobody reads it
    *body = 0;
    return MHD_YES;
  }
  return MHD_Result(static_cast<LoopbackServer*>(server)->answer(connection, url, method));
}

}  // namespace

Result<std::unique_ptr<LoopbackServer>> LoopbackServer::start(uint16_t port, Answer answer) {
  if (!g_library) g_library = load_library();
  if (!g_library)
    return user_error(ENOPKG,
                      "The library libmicrohttpd.so.12 is needed to serve a page: install the "
                      "package libmicrohttpd12.");
  std::string token = random_token();
  if (token.empty()) return sys_error("getrandom", errno);
  std::unique_ptr<LoopbackServer> server(new LoopbackServer(std::move(answer), std::move(token)));
  PB_ASSIGN(UniqueFd listening, listen_on_loopback(&port));
  server->hosts_[0] = "127.0.0.1:" + std::to_string(port);
  server->hosts_[1] = "localhost:" + std::to_string(port);
  server->url_ = "http://" + server->hosts_[0] + "/" + server->token_ + "/";
  server->daemon_ = g_library->start_daemon(
      MHD_NO_FLAG, 0, nullptr, nullptr, take_request, server.get(), MHD_OPTION_LISTEN_SOCKET,
      listening.get(), MHD_OPTION_CONNECTION_LIMIT, kConnections, MHD_OPTION_CONNECTION_TIMEOUT,
      kIdleSeconds, MHD_OPTION_END);
  if (!server->daemon_) return sys_error("start the web server", errno ? errno : ENOMEM);
  (void)listening.release();  // the library's, which closes it
  return server;
}

LoopbackServer::~LoopbackServer() {
  if (daemon_) g_library->stop_daemon(daemon_);
}

void LoopbackServer::run(int most_ms) { (void)g_library->run_wait(daemon_, most_ms); }

int LoopbackServer::answer(void* raw, std::string_view path, std::string_view method) {
  auto* connection = static_cast<MHD_Connection*>(raw);
  const char* host = g_library->lookup_value(connection, MHD_HEADER_KIND, "Host");
  const bool is_host = host && (hosts_[0] == host || hosts_[1] == host);
  const std::string_view given = path.substr(0, std::min(path.size(), token_.size() + 1));
  HttpAnswer answer{404, "text/plain; charset=utf-8", "There is nothing here.\n"};
  if (method != "GET" && method != "HEAD")
    answer = {405, "text/plain; charset=utf-8", "Only GET is answered.\n"};
  else if (is_host && is_equal(given, "/" + token_) && path.size() > given.size())
    answer = answer_(path.substr(given.size()));
  MHD_Response* response =
      g_library->create_response(answer.body.size(), answer.body.data(), MHD_RESPMEM_MUST_COPY);
  if (!response) return MHD_NO;
  constexpr std::pair<const char*, const char*> kHeaders[] = {
      {"Cache-Control", "no-store"},
      {"X-Content-Type-Options", "nosniff"},
      {"Referrer-Policy", "no-referrer"},
      {"Cross-Origin-Resource-Policy", "same-origin"},
      {"X-Frame-Options", "DENY"}};
  for (const auto& [name, value] : kHeaders) (void)g_library->add_header(response, name, value);
  (void)g_library->add_header(response, "Content-Type", answer.type);
  const MHD_Result queued = g_library->queue_response(connection, answer.status, response);
  g_library->destroy_response(response);
  return queued;
}

}  // namespace patchbay::cmd
