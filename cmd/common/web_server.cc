// SPDX-License-Identifier: MIT
#include "cmd/common/web_server.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <tuple>
#include <utility>
#include <vector>

#include "base/monotonic_clock.h"
#include "cmd/common/peer_uid.h"

namespace patchbay::cmd {
namespace {

// The library has room for more than we let stay: one that was dropped is there until its thread
// has closed it.
constexpr unsigned kRoom = 2;

// What we call of the library.
struct Library {
  decltype(&MHD_start_daemon) start_daemon;
  decltype(&MHD_stop_daemon) stop_daemon;
  decltype(&MHD_run_wait) run_wait;
  decltype(&MHD_create_response_from_buffer_with_free_callback_cls) create_response;
  decltype(&MHD_add_response_header) add_header;
  decltype(&MHD_queue_response) queue_response;
  decltype(&MHD_destroy_response) destroy_response;
  decltype(&MHD_lookup_connection_value) lookup_value;
  decltype(&MHD_get_connection_info) connection_info;
  decltype(&MHD_is_feature_supported) is_supported;
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
                        find(library, "MHD_create_response_from_buffer_with_free_callback_cls",
                             &calls.create_response) &&
                        find(library, "MHD_add_response_header", &calls.add_header) &&
                        find(library, "MHD_queue_response", &calls.queue_response) &&
                        find(library, "MHD_destroy_response", &calls.destroy_response) &&
                        find(library, "MHD_lookup_connection_value", &calls.lookup_value) &&
                        find(library, "MHD_get_connection_info", &calls.connection_info) &&
                        find(library, "MHD_is_feature_supported", &calls.is_supported);
  return is_whole ? &calls : nullptr;
}

const Library* g_library;

// What bind() takes; no bytes: the text is no address.
struct Address {
  sockaddr_storage storage{};
  socklen_t size = 0;
};
Address address_of(const std::string& text, uint16_t port) {
  Address address;
  auto* four = reinterpret_cast<sockaddr_in*>(&address.storage);
  auto* six = reinterpret_cast<sockaddr_in6*>(&address.storage);
  if (::inet_pton(AF_INET, text.c_str(), &four->sin_addr) == 1) {
    four->sin_family = AF_INET;
    four->sin_port = htons(port);
    address.size = sizeof *four;
  } else if (::inet_pton(AF_INET6, text.c_str(), &six->sin6_addr) == 1) {
    six->sin6_family = AF_INET6;
    six->sin6_port = htons(port);
    address.size = sizeof *six;
  }
  return address;
}

// `port`: 0, or what was asked for; then what it is.
Result<UniqueFd> listen_on(const WebSettings& settings, uint16_t* port) {
  Address address = address_of(settings.address, *port);
  if (!address.size)
    return user_error(EINVAL, "'" + settings.address + "' is no address: 127.0.0.1, ::1.");
  auto* plain = reinterpret_cast<sockaddr*>(&address.storage);
  UniqueFd fd(::socket(plain->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid()) return sys_error("make a socket", errno);
  const int on = 1;
  (void)::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (::bind(fd.get(), plain, address.size) != 0 ||
      ::listen(fd.get(), SOMAXCONN) != 0 ||  // a short queue is soon full of others' connections
      ::getsockname(fd.get(), plain, &address.size) != 0)
    return sys_error("listen on " + settings.address + " port " + std::to_string(*port), errno);
  *port = ntohs(plain->sa_family == AF_INET
                    ? reinterpret_cast<sockaddr_in*>(&address.storage)->sin_port
                    : reinterpret_cast<sockaddr_in6*>(&address.storage)->sin6_port);
  return fd;
}

std::string peer_of(MHD_Connection* connection) {
  const auto* info = g_library->connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
  char text[INET6_ADDRSTRLEN] = "";
  if (!info || !info->client_addr) return text;
  const sockaddr* address = info->client_addr;
  if (address->sa_family == AF_INET)
    ::inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(address)->sin_addr, text,
                sizeof text);
  else if (address->sa_family == AF_INET6)
    ::inet_ntop(AF_INET6, &reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr, text,
                sizeof text);
  return text;
}

int descriptor_of(MHD_Connection* connection) {
  const auto* info = g_library->connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
  return info ? int(info->connect_fd) : -1;
}

}  // namespace

// What has come of one request.
struct WebServer::Request {
  std::string body;
  bool is_too_large = false;
};

namespace {

// --- what the library calls

// With the head of a request, with each piece of its body, and at its end.
MHD_Result take_request(void* server, MHD_Connection* connection, const char* url,
                        const char* method, const char*, const char* piece, size_t* size,
                        void** state) {
  return MHD_Result(
      static_cast<WebServer*>(server)->take(connection, url, method, piece, size, state));
}

void note_connection(void* server, MHD_Connection* connection, void**,
                     MHD_ConnectionNotificationCode code) {
  auto* const web = static_cast<WebServer*>(server);
  code == MHD_CONNECTION_NOTIFY_STARTED ? web->begin(connection) : web->end(connection);
}

void free_body(void* body) { delete static_cast<std::shared_ptr<const std::string>*>(body); }

}  // namespace

int WebServer::take(void* raw, std::string_view url, std::string_view method, const char* piece,
                    size_t* size, void** state) {
  auto* connection = static_cast<MHD_Connection*>(raw);
  auto* request = static_cast<Request*>(*state);
  if (!request) {
    set_phase(connection, Phase::kRequest);
    *state = new Request;
    return MHD_YES;
  }
  if (*size != 0) {
    request->is_too_large |= request->body.size() + *size > settings_.most_body;
    if (!request->is_too_large) request->body.append(piece, *size);
    *size = 0;
    return MHD_YES;
  }
  if (request->is_too_large && settings_.most_body)
    return send(connection, {413, "text/plain; charset=utf-8", "The body is too large.\n"});
  const auto head = [&](const char* name) {
    return g_library->lookup_value(connection, MHD_HEADER_KIND, name);
  };
  // The library is C: no exception goes through it. What has no memory has this request's.
  try {
    return send(connection,
                answer_({method, url, head("Host"), head("Accept"), head("Authorization"),
                         head("User-Agent"), peer_of(connection), request->body}));
  } catch (const std::exception& exception) {
    return send(connection,
                {500, "text/plain; charset=utf-8",
                 std::string("The answer could not be made: ") + exception.what() + ".\n"});
  }
}

int WebServer::send(void* raw, HttpAnswer answer) {
  auto* connection = static_cast<MHD_Connection*>(raw);
  if (!answer.shared) answer.shared = std::make_shared<const std::string>(std::move(answer.body));
  auto* body = new std::shared_ptr<const std::string>(std::move(answer.shared));
  MHD_Response* response = g_library->create_response(
      (*body)->size(), const_cast<char*>((*body)->data()), free_body, body);
  if (!response) return free_body(body), MHD_NO;
  constexpr std::pair<const char*, const char*> kHeaders[] = {
      {"Cache-Control", "no-store"},
      {"X-Content-Type-Options", "nosniff"},
      {"Referrer-Policy", "no-referrer"},
      {"Cross-Origin-Resource-Policy", "same-origin"},
      {"X-Frame-Options", "DENY"}};
  for (const auto& [name, value] : kHeaders) (void)g_library->add_header(response, name, value);
  (void)g_library->add_header(response, "Content-Type", answer.type);
  if (answer.status == 401)
    (void)g_library->add_header(response, "WWW-Authenticate", "Bearer realm=\"patchbay\"");
  const MHD_Result queued = g_library->queue_response(connection, answer.status, response);
  g_library->destroy_response(response);
  return queued;
}

// --- connections

void WebServer::begin(void* raw) {
  auto* connection = static_cast<MHD_Connection*>(raw);
  const int descriptor = descriptor_of(connection);
  const std::optional<uid_t> uid = uid_of_peer(descriptor);
  const std::string peer = uid ? std::to_string(*uid) : peer_of(connection);
  const std::lock_guard guard(lock_);
  open_[descriptor] = {peer, monotonic_ms()};
  if (count(peer) > settings_.connections * 3 / 4) return drop_one_of(peer);
  size_t all = 0, most = 0;
  std::string largest;
  for (const auto& [number, one] : open_) {
    all += !one.is_dropped;
    const size_t its = count(one.peer);
    if (its > most) most = its, largest = one.peer;
  }
  if (all > settings_.connections) drop_one_of(largest);
}

void WebServer::end(void* connection) {
  const std::lock_guard guard(lock_);
  open_.erase(descriptor_of(static_cast<MHD_Connection*>(connection)));
}

void WebServer::wait_for_next(void* connection) { set_phase(connection, Phase::kWaits); }

void WebServer::set_phase(void* connection, Phase phase) {
  const std::lock_guard guard(lock_);
  const auto found = open_.find(descriptor_of(static_cast<MHD_Connection*>(connection)));
  if (found == open_.end()) return;
  found->second.phase = phase;
  found->second.since_ms = monotonic_ms();
}

size_t WebServer::count(const std::string& peer) const {
  return size_t(std::count_if(open_.begin(), open_.end(), [&](const auto& entry) {
    return !entry.second.is_dropped && entry.second.peer == peer;
  }));
}

// The one that has been quiet for longest; only where all of them are being answered one of those.
// Its own thread closes it.
void WebServer::drop_one_of(const std::string& peer) {
  const auto key = [&](const auto& entry) {
    const Connection& one = entry.second;
    return std::tuple(one.is_dropped || one.peer != peer, one.phase == Phase::kRequest,
                      one.since_ms);
  };
  const auto found = std::min_element(
      open_.begin(), open_.end(), [&](const auto& a, const auto& b) { return key(a) < key(b); });
  found->second.is_dropped = true;
  (void)::shutdown(found->first, SHUT_RDWR);
}

void WebServer::drop_slow() {
  const int64_t now_ms = monotonic_ms();
  const std::lock_guard guard(lock_);
  for (auto& [descriptor, one] : open_) {
    const unsigned seconds =
        one.phase == Phase::kHead ? settings_.head_seconds : settings_.busy_seconds;
    if (one.since_ms + int64_t(seconds) * 1000 >= now_ms) continue;
    one.is_dropped = true;
    (void)::shutdown(descriptor, SHUT_RDWR);
  }
}

// --- its life

Result<std::unique_ptr<WebServer>> WebServer::start(const WebSettings& settings, Answer answer) {
  if (!g_library) g_library = load_library();
  if (!g_library)
    return user_error(ENOPKG,
                      "The library libmicrohttpd.so.12 is needed to serve a page: install the "
                      "package libmicrohttpd12.");
  const bool has_tls = !settings.certificate.empty();
  if (has_tls && g_library->is_supported(MHD_FEATURE_TLS) != MHD_YES)
    return user_error(ENOPKG, "This libmicrohttpd.so.12 has no TLS.");
  std::unique_ptr<WebServer> server(new WebServer(settings, std::move(answer)));
  PB_ASSIGN(UniqueFd listening, listen_on(settings, &server->settings_.port));
  const auto completed = [](void* own, MHD_Connection* connection, void** state,
                            MHD_RequestTerminationCode) {
    static_cast<WebServer*>(own)->wait_for_next(connection);
    delete static_cast<Request*>(std::exchange(*state, nullptr));
  };
  const WebSettings& own = server->settings_;
  std::vector<MHD_OptionItem> more;
  if (has_tls) {
    more.push_back({MHD_OPTION_HTTPS_MEM_CERT, 0, const_cast<char*>(own.certificate.c_str())});
    more.push_back({MHD_OPTION_HTTPS_MEM_KEY, 0, const_cast<char*>(own.key.c_str())});
  }
  more.push_back({MHD_OPTION_END, 0, nullptr});
  const unsigned flags =
      (has_tls ? MHD_USE_TLS : 0) |
      (own.threads ? MHD_USE_THREAD_PER_CONNECTION | MHD_USE_INTERNAL_POLLING_THREAD : 0);
  errno = 0;
  server->daemon_ = g_library->start_daemon(
      flags, 0, nullptr, nullptr, take_request, server.get(), MHD_OPTION_LISTEN_SOCKET,
      listening.get(), MHD_OPTION_CONNECTION_LIMIT, kRoom * own.connections,
      MHD_OPTION_CONNECTION_TIMEOUT, own.idle_seconds, MHD_OPTION_NOTIFY_COMPLETED,
      static_cast<MHD_RequestCompletedCallback>(completed), server.get(),
      MHD_OPTION_NOTIFY_CONNECTION, note_connection, server.get(), MHD_OPTION_ARRAY, more.data(),
      MHD_OPTION_END);
  if (!server->daemon_ && has_tls)
    return user_error(EINVAL, "The web server does not start with this certificate and key.");
  if (!server->daemon_) return sys_error("start the web server", errno ? errno : ENOMEM);
  (void)listening.release();  // the library's, which closes it
  return server;
}

WebServer::~WebServer() {
  if (daemon_) g_library->stop_daemon(daemon_);
}

// A descriptor that is shut down here may have been closed, and be another connection's, only if
// the library has closed it without telling us: it tells us before.
void WebServer::run(int most_ms) {
  if (settings_.threads)
    (void)::poll(nullptr, 0, most_ms);
  else
    (void)g_library->run_wait(daemon_, most_ms);
  drop_slow();
}

// --- secrets

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

bool is_same_secret(std::string_view given, std::string_view secret) {
  if (given.size() != secret.size()) return false;
  unsigned differ = 0;
  for (size_t i = 0; i < secret.size(); i++)
    differ |= unsigned(static_cast<unsigned char>(given[i] ^ secret[i]));
  return differ == 0;
}

}  // namespace patchbay::cmd
