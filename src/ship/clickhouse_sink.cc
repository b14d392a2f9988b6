// SPDX-License-Identifier: MIT
#include "ship/clickhouse_sink.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <thread>

#include "base/monotonic_clock.h"
#include "base/secret_file.h"
#include "base/text.h"

namespace patchbay {
namespace {

constexpr int kMostPauseMs = 5000;

// Errors by which a table or a server is told apart from one that may be back soon.
bool may_go_by(const Error& error) {
  return error.errno_value == ECONNREFUSED || error.errno_value == EIO ||
         error.errno_value == EPROTO || error.errno_value == EAGAIN;
}

std::string place(const ClickhouseChoice& choice, const ShipTable& table) {
  return quote_identifier(choice.database) + "." + quote_identifier(table.name);
}

std::string key_of(const ShipTable& table, const ShipOrigin& origin) {
  return table.name + " " + std::to_string(origin.source) + " " + origin.host;
}

}  // namespace

Status ClickhouseChoice::read_password(const std::string& file) {
  if (file.empty()) return {};
  constexpr size_t kMostBytes = 4096;
  PB_ASSIGN(const std::string text, read_secret_file(file, kMostBytes));
  password = text.substr(0, text.find_first_of("\r\n"));
  return {};
}

Status check_server_url(const std::string& url) {
  const bool is_http = url.starts_with("http://") || url.starts_with("https://");
  const size_t start = url.find("://");
  if (!is_http || url.size() <= start + 3)
    return user_error(EINVAL, "'" + url.substr(0, 20) +
                                  "…' is no address of a server, like http://127.0.0.1:8123.");
  const std::string_view rest = std::string_view(url).substr(start + 3);
  const std::string_view host = rest.substr(0, rest.find('/'));
  if (host.find('@') != host.npos)
    return user_error(EINVAL,
                      "A password does not belong in an address, which others see: name the user "
                      "with --user and a file with --password-file.");
  if (rest.find_first_of("?#") != rest.npos)
    return user_error(EINVAL,
                      "The address of a server ends before '?': options have their own "
                      "words.");
  return {};
}

Result<std::unique_ptr<ClickhouseSink>> ClickhouseSink::make(ClickhouseChoice choice, Say say) {
  PB_TRY(check_server_url(choice.url));
  std::unique_ptr<ClickhouseSink> sink(new ClickhouseSink);
  while (choice.url.ends_with('/')) choice.url.pop_back();
  sink->choice_ = std::move(choice);
  sink->say_ = std::move(say);
  PB_ASSIGN(sink->http_, HttpClient::make());
  return sink;
}

HttpClient::Request ClickhouseSink::request(const std::string& statement,
                                            const std::string& id) const {
  HttpClient::Request request;
  request.url = choice_.url + "/?query=" + HttpClient::escape(statement);
  if (!id.empty()) request.url += "&query_id=" + HttpClient::escape(id);
  if (!choice_.user.empty()) request.headers.push_back("X-ClickHouse-User: " + choice_.user);
  if (!choice_.password.empty()) request.headers.push_back("X-ClickHouse-Key: " + choice_.password);
  request.headers.push_back("Content-Type: application/octet-stream");
  request.seconds = choice_.request_seconds;
  request.stop = choice_.stop;
  return request;
}

// EAGAIN: the server said something that may go by. EACCES, EEXIST, ENOENT: as advice_of() has it.
Result<std::string> ClickhouseSink::query(const std::string& statement, std::string_view body,
                                          const std::string& id) {
  HttpClient::Request asked = request(statement, id);
  asked.body = body;
  PB_ASSIGN(HttpReply reply, http_->post(asked));
  if (reply.status == 200) return std::move(reply.body);
  const ServerError error = parse_server_error(reply.body);
  const std::string sentence =
      "the server answers " + std::to_string(reply.status) + ": " + error.text;
  switch (advice_of(reply.status, error)) {
    case ServerAdvice::kPrepare:
      return user_error(ENOENT, sentence);
    case ServerAdvice::kRefused:
      return user_error(EEXIST, sentence);
    case ServerAdvice::kNoEntry:
      return user_error(EACCES, sentence);
    case ServerAdvice::kTryAgain:
      break;
  }
  return user_error(EAGAIN, sentence);
}

Result<std::string> ClickhouseSink::ask(const std::string& statement) {
  PB_TRY(greet());
  return query(statement);
}

Status ClickhouseSink::greet() {
  if (has_greeted_) return {};
  PB_ASSIGN(const std::string answer, query("SELECT version()"));
  PB_ASSIGN(const std::string version, parse_server_version(answer));
  has_greeted_ = true;
  return {};
}

// Grows to five seconds, and ends at once when it is to stop.
Status ClickhouseSink::wait_a_moment(int tries) const {
  const int64_t until = monotonic_ms() + std::min(kMostPauseMs, 50 << std::min(tries, 7));
  while (monotonic_ms() < until) {
    if (choice_.stop && choice_.stop->load()) return sys_error("wait for the server", EINTR);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return {};
}

Status ClickhouseSink::until_it_works(const Try& attempt) {
  const int64_t since = monotonic_ms();
  for (int tries = 0;; tries++) {
    const Status done = attempt();
    if (done.ok()) {
      if (tries > 2 && say_) say_(choice_.url + " answers again");
      return {};
    }
    const Error& error = done.error();
    const bool goes_by = may_go_by(error) || error.errno_value == ENOENT;
    if (!goes_by) return error;
    has_greeted_ = false;  // who is there next may be another one
    if (tries == 2 && say_) say_(choice_.url + ": " + error.message() + "; it is tried again");
    const int64_t patience = choice_.patience_seconds * 1000;
    if (patience && monotonic_ms() - since > patience)
      return user_error(ETIMEDOUT, choice_.url + ": " + error.message());
    PB_TRY(wait_a_moment(tries));
  }
}

Status ClickhouseSink::make_table(const ShipTable& table) {
  PB_TRY(greet());
  PB_TRY(query(create_database_sql(choice_.database)));
  PB_TRY(query(create_table_sql(choice_.database, table)));
  const std::string where = " WHERE database = " + quote_sql_text(choice_.database) +
                            " AND table = " + quote_sql_text(table.name);
  const std::string ask_columns =
      "SELECT name, type FROM system.columns" + where + " FORMAT TabSeparated";
  PB_ASSIGN(std::string answer, query(ask_columns));
  PB_ASSIGN(ServerColumns there, parse_server_columns(answer));
  if (there.empty()) return user_error(EPROTO, "the table that was made has no columns");
  PB_ASSIGN(auto missing, missing_columns(choice_.database, table, there));
  for (const ShipColumn& column : missing) {
    const auto added = query(add_column_sql(choice_.database, table, column));
    if (added.ok()) continue;
    // Another shipper may have been faster.
    PB_ASSIGN(answer, query(ask_columns));
    PB_ASSIGN(there, parse_server_columns(answer));
    if (!there.count(column.name)) return added.error();
  }
  if (choice_.cluster.empty()) return {};
  const std::string all =
      quote_identifier(choice_.database) + "." + quote_identifier(table.name + "_all");
  if (!missing.empty()) PB_TRY(query("DROP TABLE IF EXISTS " + all));
  PB_TRY(query("CREATE TABLE IF NOT EXISTS " + all + " AS " + place(choice_, table) +
               " ENGINE = Distributed(" + quote_sql_text(choice_.cluster) + ", " +
               quote_sql_text(choice_.database) + ", " + quote_sql_text(table.name) + ")"));
  return {};
}

Status ClickhouseSink::look_what_is_there(const ShipTable& table, const ShipOrigin& origin) {
  PB_ASSIGN(const std::string answer, query("SELECT block, count() FROM " + place(choice_, table) +
                                            " WHERE host = " + quote_sql_text(origin.host) +
                                            " AND source = " + std::to_string(origin.source) +
                                            " GROUP BY block FORMAT TabSeparated"));
  PB_ASSIGN(there_[key_of(table, origin)], parse_block_counts(answer));
  return {};
}

Status ClickhouseSink::prepare(const ShipTable& table, const ShipOrigin& origin) {
  return until_it_works([&]() -> Status {
    PB_TRY(make_table(table));
    return look_what_is_there(table, origin);
  });
}

// The server may be busy with an INSERT whose connection has broken.
Status ClickhouseSink::wait_for_end(const std::string& id) {
  PB_ASSIGN(const std::string answer,
            query("SELECT count() FROM system.processes WHERE query_id = " + quote_sql_text(id) +
                  " FORMAT TabSeparated"));
  PB_ASSIGN(auto rows, parse_tab_separated(answer, 1));
  if (rows.size() != 1) return user_error(EPROTO, "a number is expected");
  if (rows[0][0] != "0") return user_error(EAGAIN, "the last block is still being stored");
  return {};
}

Status ClickhouseSink::send_once(const ShipBlock& block) {
  const std::string key = key_of(*block.table, *block.origin);
  if (!pending_id_.empty()) {
    PB_TRY(greet());
    PB_TRY(wait_for_end(pending_id_));
    PB_TRY(make_table(*block.table));
    PB_TRY(look_what_is_there(*block.table, *block.origin));
    pending_id_.clear();
    sent_again_++;
  }
  const auto& known = there_[key];
  const auto found = known.find(block.number);
  const uint64_t has = found == known.end() ? 0 : found->second;
  if (has >= block.rows) return there_already_++, Status();
  std::string_view rest = block.bytes;
  if (has) rest.remove_prefix((*block.ends)[has - 1]);
  pending_id_ = "patchbay-" + std::to_string(::getpid()) + "-" +
                std::to_string(block.origin->source) + "-" + std::to_string(++nr_requests_);
  auto sent = query(insert_sql(choice_.database, *block.table), rest, pending_id_);
  if (sent.ok() && !sent->empty())
    return user_error(EPROTO, "this is not the answer of a ClickHouse server to rows");
  if (!sent.ok()) return sent.error();
  pending_id_.clear();
  return {};
}

Status ClickhouseSink::deliver(const ShipBlock& block) {
  return until_it_works([&] { return send_once(block); });
}

}  // namespace patchbay
