// SPDX-License-Identifier: MIT
//
// Blocks into a ClickHouse server, by HTTP.
//
//   prepare   CREATE DATABASE, CREATE TABLE, the columns that are there, ALTER for those that are
//             not; then: which blocks of this source does the table have?
//   deliver   there already: nothing       not there: INSERT … FORMAT RowBinary
//                                            200     it is there
//                                            else    wait, ask what the table has, again
//
// An answer that did not come says nothing about the block: it may be there, or still on its way.
// So the question waits until the server runs no such INSERT any more. Of a block that came in part
// (a body that broke off at a row's end) the rest is sent.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "ship/clickhouse_answer.h"
#include "ship/http_client.h"
#include "ship/ship_block.h"

namespace patchbay {

struct ClickhouseChoice {
  std::string url;  // "http://127.0.0.1:8123"
  std::string database = "patchbay";
  std::string user, password;  // empty: the server's default
  std::string cluster;         // not empty: a Distributed table beside each
  long request_seconds = 60;
  // How long a server may be away; 0: for ever.
  long patience_seconds = 60;
  const std::atomic<bool>* stop = nullptr;

  // The password is the first line of this file, which only its owner may read
  // (base/secret_file.h); an empty name: there is none.
  Status read_password(const std::string& file);
};
// EINVAL with a sentence: no http or https, or a password in it.
Status check_server_url(const std::string& url);

class ClickhouseSink : public ShipSink {
 public:
  // `say`: one sentence when the server goes away, one when it is back.
  using Say = std::function<void(const std::string&)>;
  static Result<std::unique_ptr<ClickhouseSink>> make(ClickhouseChoice choice, Say say);

  Status prepare(const ShipTable& table, const ShipOrigin& origin) override;
  Status deliver(const ShipBlock& block) override;
  // A statement's answer, whatever it is; errors as sentences. Tried once.
  Result<std::string> ask(const std::string& statement);

  uint64_t sent_again() const { return sent_again_; }
  uint64_t there_already() const { return there_already_; }

 private:
  ClickhouseSink() = default;
  using Try = std::function<Status()>;
  HttpClient::Request request(const std::string& statement, const std::string& id) const;
  Result<std::string> query(const std::string& statement, std::string_view body = {},
                            const std::string& id = "");
  Status until_it_works(const Try& attempt);
  Status wait_a_moment(int tries) const;
  Status make_table(const ShipTable& table);
  Status greet();
  Status look_what_is_there(const ShipTable& table, const ShipOrigin& origin);
  Status send_once(const ShipBlock& block);
  Status wait_for_end(const std::string& id);

  ClickhouseChoice choice_;
  Say say_;
  std::unique_ptr<HttpClient> http_;
  bool has_greeted_ = false;
  // Rows by block, of the table and source that was prepared; by table.
  std::map<std::string, std::map<uint32_t, uint64_t>> there_;
  std::string pending_id_;  // of an INSERT whose end is not known
  uint64_t nr_requests_ = 0, sent_again_ = 0, there_already_ = 0;
};

}  // namespace patchbay
