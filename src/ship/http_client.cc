// SPDX-License-Identifier: MIT
#include "ship/http_client.h"

#include <curl/curl.h>
#include <dlfcn.h>

#include <algorithm>
#include <cerrno>
#include <string_view>

#include "base/text.h"

namespace patchbay {
namespace {

// What we call of the library.
struct Library {
  decltype(&curl_global_init) global_init;
  decltype(&curl_easy_init) easy_init;
  decltype(&curl_easy_reset) easy_reset;
  decltype(&curl_easy_perform) perform;
  decltype(&curl_easy_cleanup) cleanup;
  decltype(&curl_easy_strerror) error_text;
  decltype(&curl_slist_append) append;
  decltype(&curl_slist_free_all) free_list;
  // The two that take anything.
  CURLcode (*set)(CURL*, CURLoption, ...);
  CURLcode (*get)(CURL*, CURLINFO, ...);
};

template <typename Function>
bool find(void* library, const char* name, Function* function) {
  *function = reinterpret_cast<Function>(::dlsym(library, name));
  return *function != nullptr;
}

// Null: it is not installed. It stays loaded.
const Library* load_library() {
  static Library calls;
  void* library = nullptr;
  for (const char* name : {"libcurl.so.4", "libcurl-gnutls.so.4"})
    if (!library) library = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
  const bool is_whole = library && find(library, "curl_global_init", &calls.global_init) &&
                        find(library, "curl_easy_init", &calls.easy_init) &&
                        find(library, "curl_easy_reset", &calls.easy_reset) &&
                        find(library, "curl_easy_perform", &calls.perform) &&
                        find(library, "curl_easy_cleanup", &calls.cleanup) &&
                        find(library, "curl_easy_strerror", &calls.error_text) &&
                        find(library, "curl_slist_append", &calls.append) &&
                        find(library, "curl_slist_free_all", &calls.free_list) &&
                        find(library, "curl_easy_setopt", &calls.set) &&
                        find(library, "curl_easy_getinfo", &calls.get);
  if (!is_whole || calls.global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) return nullptr;
  return &calls;
}

const Library* library() {
  static const Library* const loaded = load_library();
  return loaded;
}

struct Answer {
  std::string body;
  bool is_too_long = false;
};

size_t take_body(char* bytes, size_t size, size_t count, void* into) {
  Answer* answer = static_cast<Answer*>(into);
  if (answer->body.size() + size * count > HttpClient::kMostBody) {
    answer->is_too_long = true;
    return 0;
  }
  answer->body.append(bytes, size * count);
  return size * count;
}

int look_at_stop(void* stop, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  const auto* flag = static_cast<const std::atomic<bool>*>(stop);
  return flag && flag->load() ? 1 : 0;
}

// A proxy of the environment is for other machines.
bool is_loopback(std::string_view url) {
  const size_t start = url.find("://");
  std::string_view host = start == url.npos ? url : url.substr(start + 3);
  host = host.substr(0, host.find('/'));
  if (const size_t at = host.rfind('@'); at != host.npos) host.remove_prefix(at + 1);
  return host.starts_with("127.") || host.starts_with("localhost") || host.starts_with("[::1]");
}

bool is_unreached(CURLcode code) {
  return code == CURLE_COULDNT_CONNECT || code == CURLE_COULDNT_RESOLVE_HOST ||
         code == CURLE_COULDNT_RESOLVE_PROXY;
}

}  // namespace

Result<std::unique_ptr<HttpClient>> HttpClient::make() {
  if (!library())
    return user_error(ENOPKG,
                      "The library libcurl.so.4 is needed for HTTP: install the package libcurl4.");
  std::unique_ptr<HttpClient> client(new HttpClient);
  client->handle_ = library()->easy_init();
  if (!client->handle_) return sys_error("begin with libcurl", ENOMEM);
  return client;
}

HttpClient::~HttpClient() {
  if (handle_) library()->cleanup(handle_);
}

Result<HttpReply> HttpClient::post(const Request& request) {
  const Library& curl = *library();
  curl.easy_reset(handle_);  // connections stay
  curl_slist* headers = curl.append(nullptr, "Expect:");
  for (const std::string& header : request.headers) headers = curl.append(headers, header.c_str());
  Answer answer;
  curl.set(handle_, CURLOPT_URL, request.url.c_str());
  curl.set(handle_, CURLOPT_PROTOCOLS_STR, "http,https");
  curl.set(handle_, CURLOPT_HTTPHEADER, headers);
  curl.set(handle_, CURLOPT_POST, 1L);
  curl.set(handle_, CURLOPT_POSTFIELDS, request.body.data() ? request.body.data() : "");
  curl.set(handle_, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(request.body.size()));
  curl.set(handle_, CURLOPT_WRITEFUNCTION, &take_body);
  curl.set(handle_, CURLOPT_WRITEDATA, &answer);
  curl.set(handle_, CURLOPT_NOPROGRESS, 0L);
  curl.set(handle_, CURLOPT_XFERINFOFUNCTION, &look_at_stop);
  curl.set(handle_, CURLOPT_XFERINFODATA, request.stop);
  curl.set(handle_, CURLOPT_CONNECTTIMEOUT, std::min(10L, request.seconds));
  curl.set(handle_, CURLOPT_TIMEOUT, request.seconds);
  curl.set(handle_, CURLOPT_NOSIGNAL, 1L);
  if (is_loopback(request.url)) curl.set(handle_, CURLOPT_PROXY, "");
  const CURLcode code = curl.perform(handle_);
  HttpReply reply;
  curl.get(handle_, CURLINFO_RESPONSE_CODE, &reply.status);
  curl.free_list(headers);
  if (code == CURLE_ABORTED_BY_CALLBACK) return sys_error("wait for the server", EINTR);
  if (answer.is_too_long) return user_error(EIO, "the answer is longer than any that is expected");
  if (is_unreached(code)) return user_error(ECONNREFUSED, curl.error_text(code));
  if (code != CURLE_OK) return user_error(EIO, curl.error_text(code));
  reply.body = std::move(answer.body);
  return reply;
}

std::string HttpClient::escape(std::string_view text) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    if (is_name_char(c) || c == '-' || c == '.') {
      out += c;
    } else {
      out += '%';
      out += {kDigits[uint8_t(c) >> 4], kDigits[uint8_t(c) & 15]};
    }
  }
  return out;
}

}  // namespace patchbay
