// SPDX-License-Identifier: MIT
#include "ship/clickhouse_answer.h"

#include <gtest/gtest.h>

#include "ship/clickhouse_sink.h"

namespace patchbay {
namespace {

TEST(ServerAnswer, IsReadOrRefused) {
  auto columns = parse_server_columns("a\tInt32\nb\\tc\tArray(String)\n");
  ASSERT_TRUE(columns.ok());
  EXPECT_EQ("Int32", (*columns)["a"]);
  EXPECT_EQ("Array(String)", (*columns)["b\tc"]);
  EXPECT_TRUE(parse_server_columns("")->empty());
  for (const char* wrong : {"a", "a\n", "a\tb", "a\tb\tc\n", "\t\n", "<html>\n"})
    EXPECT_EQ(EPROTO, parse_server_columns(wrong).error().errno_value) << wrong;
  auto counts = parse_block_counts("0\t100000\n16777216\t5\n");
  ASSERT_TRUE(counts.ok());
  EXPECT_EQ(100000u, (*counts)[0]);
  EXPECT_EQ(5u, (*counts)[1 << 24]);
  for (const char* wrong : {"-1\t2\n", "4294967296\t1\n", "1\t\n", "a\tb\n"})
    EXPECT_FALSE(parse_block_counts(wrong).ok()) << wrong;
  EXPECT_EQ("18.16.1", *parse_server_version("18.16.1\n"));
  for (const char* wrong : {"", "\n", "Ok.\n", "18\n16\n", "1 2\n", "1\x1b[31m\n"})
    EXPECT_FALSE(parse_server_version(wrong).ok()) << wrong;
}

TEST(ServerAnswer, SaysWhatToDo) {
  const ServerError error = parse_server_error("Code: 60, e.displayText() = \x1b[31m\nmore");
  EXPECT_EQ(60, error.code);
  EXPECT_EQ("Code: 60, e.displayText() = ?[31m", error.text);
  EXPECT_EQ(ServerAdvice::kPrepare, advice_of(404, error));
  EXPECT_EQ(ServerAdvice::kTryAgain,
            advice_of(500, parse_server_error("Code: 252, too many parts")));
  EXPECT_EQ(ServerAdvice::kTryAgain, advice_of(503, parse_server_error("<html>busy")));
  EXPECT_EQ(ServerAdvice::kRefused, advice_of(500, parse_server_error("Code: 53, x")));
  EXPECT_EQ(ServerAdvice::kNoEntry, advice_of(500, parse_server_error("Code: 193, x")));
  EXPECT_EQ(ServerAdvice::kNoEntry, advice_of(403, parse_server_error("")));
  EXPECT_EQ(0, parse_server_error("Code: 99999999999999999999, x").code);
}

TEST(ServerUrl, HasNoPassword) {
  for (const char* right : {"http://127.0.0.1:8123", "https://ch.example/path/", "http://[::1]:1"})
    EXPECT_TRUE(check_server_url(right).ok()) << right;
  for (const char* wrong :
       {"", "127.0.0.1:8123", "ftp://x", "http://", "http://u:p@h", "http://h/?a=b"})
    EXPECT_FALSE(check_server_url(wrong).ok()) << wrong;
  EXPECT_EQ(std::string::npos,
            check_server_url("http://u:geheim@h").error().message().find("geheim"));
}

TEST(HttpClient, EscapesAddresses) {
  EXPECT_EQ("a%20%60b%60%26%C3%A4", HttpClient::escape("a `b`&\xc3\xa4"));
}

}  // namespace
}  // namespace patchbay
