// SPDX-License-Identifier: MIT
#include "cmd/common/daemon_conf.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <string>

namespace patchbay::cmd {
namespace {

constexpr Option kOptions[] = {
    {.name = "listen", .argument = "ADDRESS", .help = "listens there", .id = kFirstOptionId},
    {.name = "hook", .argument = "TEXT", .repeats = true, .id = kFirstOptionId + 1},
    {.letter = 'v', .name = "verbose", .help = "says more"},
    kConfOption,
};
constexpr CommandLine kLine = {
    .name = "serve", .summary = "", .synopsis = "serve", .about = "", .options = {kOptions}};

// The options that a text gives, "ID=VALUE;" each; or what is wrong with it.
std::string taken(std::string_view text, std::string_view section = "serve") {
  Result<DaemonConf> conf = parse_daemon_conf("f.conf", text);
  if (!conf.ok()) return conf.error().message();
  std::string all;
  const auto take = [&](int id, const char* value) -> const char* {
    if (std::string_view(value) == "bad") return "It is bad.";
    all += (id == 'v' ? "v" : std::to_string(id - kFirstOptionId)) + "=" + value + ";";
    return nullptr;
  };
  const Status done = take_conf_options(*conf, section, kLine, take);
  return done.ok() ? all : done.error().message();
}

TEST(DaemonConf, SectionsBecomeOptions) {
  const struct {
    const char *text, *want;
  } cases[] = {
      {"", ""},
      {"trace_clock = mono\n[instance x]\na = b\n", ""},
      {"[serve]\nlisten = 127.0.0.1:1\n", "0=127.0.0.1:1;"},
      {"[serve]\nhook = a b\nhook = c # d\n[attach]\nlisten = z\n[serve]\nverbose = yes\n",
       "1=a b;1=c # d;v=;"},
      {"[serve]\nverbose = no\nlisten =\n", "0=;"},
      {"[ship]\nlisten = x\n", ""},
      {"[serve]\nlisten = a \\\n  b\n", "0=a   b;"},
  };
  for (const auto& one : cases) EXPECT_EQ(taken(one.text), one.want) << one.text;
}

TEST(DaemonConf, MistakesHaveTheirPlace) {
  const struct {
    const char *text, *want;
  } cases[] = {
      {"[serve]\nlisen = x\n",
       "f.conf:2: There is no setting 'lisen' of [serve]: patchbay serve --help lists them.\n"
       "  lisen = x\n          ^"},
      {"\n[serve]\nlisten = bad\n", "f.conf:3: It is bad.\n  listen = bad\n           ^"},
      {"[serve]\nverbose = 1\n", "f.conf:2: verbose is yes or no.\n  verbose = 1\n            ^"},
      {"[serve]\nconf = x\n",
       "f.conf:2: There is no setting 'conf' of [serve]: patchbay serve --help lists them.\n"
       "  conf = x\n         ^"},
      {"[serve]\nlisten += x\n",
       "f.conf:2: A setting of the tool is NAME = TEXT, without +.\n  listen += x\n  ^"},
      {"[server]\nlisten = x\n",
       "f.conf:1: A section is [instance NAME] or [top]; of the tool [serve], [ship] or "
       "[attach].\n  [server]\n   ^"},
      {"[serve x]\n",
       "f.conf:1: A section is [instance NAME] or [top]; of the tool [serve], [ship] or "
       "[attach].\n  [serve x]\n   ^"},
  };
  for (const auto& one : cases) EXPECT_EQ(taken(one.text), one.want) << one.text;
}

TEST(DaemonConf, WhoMayWriteIt) {
  char name[] = "/tmp/patchbay-conf-test.XXXXXX";
  const int fd = ::mkstemp(name);
  ASSERT_GE(fd, 0);
  ASSERT_EQ(::write(fd, "[serve]\n", 8), 8);
  Result<DaemonConf> conf = read_daemon_conf(name);
  ASSERT_TRUE(conf.ok()) << conf.error().message();
  EXPECT_EQ(conf->sections.size(), 1u);
  ASSERT_EQ(::fchmod(fd, 0622), 0);
  conf = read_daemon_conf(name);
  ASSERT_FALSE(conf.ok());
  EXPECT_NE(conf.error().message().find("may be written by others"), std::string::npos);
  ::close(fd);
  ::unlink(name);
  EXPECT_EQ(read_daemon_conf(name).error().errno_value, ENOENT);
  EXPECT_FALSE(read_daemon_conf("/dev/null").ok());
  EXPECT_TRUE(read_daemon_conf("").ok());
  ASSERT_EQ(::mkfifo(name, 0600), 0);
  EXPECT_FALSE(read_daemon_conf(name).ok());  // and does not wait
  ::unlink(name);
}

}  // namespace
}  // namespace patchbay::cmd
