// SPDX-License-Identifier: MIT
#include "debug_info/probe_request.h"

#include <gtest/gtest.h>

namespace patchbay {
namespace {

// All of a request in one line: [GROUP:]EVENT= FUNC@FILE :LINE +OFFSET %return ;PATTERN, arguments.
std::string shown(const ProbeRequest& request) {
  std::string text;
  if (!request.event.empty()) text += request.group + ":" + request.event + "= ";
  text += "{" + request.function + "}{" + request.file + "}";
  if (request.line) text += " line " + std::to_string(*request.line);
  if (request.offset) text += " +" + std::to_string(request.offset);
  if (request.on_return) text += " return";
  if (!request.pattern.empty()) text += " pattern '" + request.pattern + "'";
  for (const ProbeRequestArgument& argument : request.arguments)
    text += " [" + argument.name + "=" + argument.expression + ":" + argument.type + "]";
  return text;
}

TEST(ProbeRequest, IsTakenApart) {
  const std::pair<const char*, const char*> rows[] = {
      {"work", "{work}{}"},
      {"work:3", "{work}{} line 3"},
      {"work:0", "{work}{} line 0"},
      {"work+0x12", "{work}{} +18"},
      {"work+18", "{work}{} +18"},
      {"work%return", "{work}{} return"},
      {"work@a/b.c", "{work}{a/b.c}"},
      {"work@b.c:7", "{work}{b.c} line 7"},
      {"b.c:12", "{}{b.c} line 12"},
      {"src/b.cc:12", "{}{src/b.cc} line 12"},
      {"work;return*", "{work}{} pattern 'return*'"},
      {"ns::f", "{ns::f}{}"},
      {"ns::f:2", "{ns::f}{} line 2"},
      {"ns::f(int, char):2", "{ns::f(int, char)}{} line 2"},
      {"Box<a, b>::get:1 x", "{Box<a, b>::get}{} line 1 [=x:]"},
      {"operator+", "{operator+}{}"},
      {"a.cold", "{a.cold}{}"},
      {"e=work", ":e= {work}{}"},
      {"g:e=work:3", "g:e= {work}{} line 3"},
      {"g/e=work", "g:e= {work}{}"},
      {"work a b->c", "{work}{} [=a:] [=b->c:]"},
      {"work x=a->b:string", "{work}{} [x=a->b:string]"},
      {"work x=a[3]:x", "{work}{} [x=a[3]:x]"},
      {"work ns::count:u", "{work}{} [=ns::count:u]"},
      {"work ns::count", "{work}{} [=ns::count:]"},
      {"work c=%di:x64", "{work}{} [c=%di:x64:]"},
      {"work +8(%di):u32", "{work}{} [=+8(%di):u32:]"},
      {"work $vars $retval:x", "{work}{} [=$vars:] [=$retval:x]"},
      {"work $stack0", "{work}{} [=$stack0:]"},
      {"  work \t a \n", "{work}{} [=a:]"},
  };
  for (const auto& [text, expected] : rows) {
    Result<ProbeRequest> request = parse_probe_request(text);
    ASSERT_TRUE(request.ok()) << text << ": " << request.error().message();
    EXPECT_EQ(shown(*request), expected) << text;
  }
}

TEST(ProbeRequest, MistakesAreSentences) {
  const std::pair<const char*, const char*> rows[] = {
      {"", "A function, or a file with a line, is missing."},
      {" \t", "A function, or a file with a line, is missing."},
      {"work;", "A pattern is missing behind ';'."},
      {"work%ret", "'%ret' is not %return."},
      {"work@", "A file is missing behind '@'."},
      {"work+x", "'+x' is no offset."},
      {"work+0x", "'+0x' is no offset."},
      {"work:99999999999", "'99999999999' is no line."},
      {"work:2147483648", "'2147483648' is no line."},
      {"work+4:3", "Only one of a line, an offset and %return can be given."},
      {"work:3%return", "Only one of a line, an offset and %return can be given."},
      {"@b.c", "A function, or a file with a line, is missing."},
  };
  for (const auto& [text, expected] : rows) {
    Result<ProbeRequest> request = parse_probe_request(text);
    ASSERT_FALSE(request.ok()) << text << " is " << shown(*request);
    EXPECT_EQ(request.error().message(), expected) << text;
  }
}

TEST(ProbeRequest, WhatNeedsNoDebugInformation) {
  for (const char* plain : {"%di", "@counter", "@0x12", "+8(%sp)", "-8(%bp)", "\\42", "$stack",
                            "$stack3", "$comm", "$arg1"})
    EXPECT_TRUE((ProbeRequestArgument{"", plain, ""}.is_plain())) << plain;
  for (const char* other : {"", "a", "*p", "a->b", "$retval", "$retval->x", "$vars", "$params"})
    EXPECT_FALSE((ProbeRequestArgument{"", other, ""}.is_plain())) << other;
}

TEST(ProbeRequest, IsToldFromTheNameOfAnEvent) {
  for (const char* text : {"work:3", "work%return", "work@b.c n", "work@b.c:3", "work;x",
                           "work+0x4", "e=work", "work a", "b.c:12 a", "ns::f(int):2"})
    EXPECT_TRUE(looks_like_probe_request(text)) << text;
  for (const char* text : {"", "work", "system:event", "work(int n)", "work(int n, string name)",
                           "libc:malloc", "file@0x1234(int n)", "f@file.c(int n)", "f@file.c",
                           "f@plt(x64 a)", "ns::f(int)", "operator+"})
    EXPECT_FALSE(looks_like_probe_request(text)) << text;
}

}  // namespace
}  // namespace patchbay
