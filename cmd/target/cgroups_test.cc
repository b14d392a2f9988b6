// SPDX-License-Identifier: MIT
#include "cmd/target/cgroups.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <memory>

namespace patchbay::cmd {
namespace {

namespace fs = std::filesystem;

const std::string kOne(64, 'a'), kOther = "ab" + std::string(62, '0'), kThird(64, '7');

// A tree of groups as systemd, docker, podman and kubernetes make them, and a /proc beside it.
class CgroupsTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/patchbay-cgroups.XXXXXX";
    top_ = ::mkdtemp(name);
    root_ = top_ + "/tree";
    for (const std::string& group :
         {std::string(""), std::string("system.slice"), std::string("system.slice/nginx.service"),
          std::string("system.slice/system-postgresql.slice"),
          std::string("system.slice/system-postgresql.slice/postgresql@16-main.service"),
          std::string("user.slice/user-1000.slice/user@1000.service/app.slice/web.service"),
          std::string("user.slice/user-1001.slice/user@1001.service/app.slice/web.service"),
          std::string("user.slice/user-1000.slice/user@1000.service/app.slice/nginx.service"),
          "system.slice/docker-" + kOne + ".scope", "system.slice/docker-" + kOne + ".scope/init",
          "machine.slice/libpod-" + kOther + ".scope/container",
          "machine.slice/libpod-conmon-" + kOther + ".scope", "kubepods/burstable/pod12/" + kThird})
      make(group);
    const std::string docker = top_ + "/var/lib/docker/containers/" + kOne;
    fs::create_directories(docker);
    std::ofstream(docker + "/config.v2.json")
        << "{\"ID\":\"" << kOne << "\",\"Config\":{\"Name\":\"x\"},\"Name\":\"/web\"}";
    const std::string podman = top_ + "/var/lib/containers/storage/overlay-containers";
    fs::create_directories(podman);
    std::ofstream(podman + "/containers.json")
        << "[{\"id\":\"" << kThird << "\",\"image\":\"i\"},{\"id\":\"" << kOther
        << "\",\"names\":[\"db\",\"other\"],\"image\":\"i\"}]";
    groups_ = std::make_unique<Cgroups>(std::vector<std::string>{root_}, top_ + "/proc", top_);
  }
  void TearDown() override { fs::remove_all(top_); }

  void make(const std::string& group, const std::string& pids = "") {
    const std::string directory = root_ + "/" + group;
    for (fs::path path = directory; path.native().size() >= root_.size();
         path = path.parent_path()) {
      fs::create_directories(path);
      if (!fs::exists(path / "cgroup.procs")) std::ofstream(path / "cgroup.procs");
    }
    std::ofstream(directory + "/cgroup.procs") << pids;
  }
  void put(int pid, const std::string& cgroup) {
    const std::string directory = top_ + "/proc/" + std::to_string(pid);
    fs::create_directories(directory);
    std::ofstream(directory + "/cgroup") << cgroup;
  }
  // The path below the root, or the error.
  std::string said(Result<std::string> result) const {
    if (!result.ok()) return result.error().message();
    return result->starts_with(root_) ? result->substr(root_.size()) : *result;
  }

  std::string top_, root_;
  std::unique_ptr<Cgroups> groups_;
};

TEST_F(CgroupsTest, Services) {
  EXPECT_EQ(said(groups_->of_service("nginx")), "/system.slice/nginx.service");
  EXPECT_EQ(said(groups_->of_service("nginx.service")), "/system.slice/nginx.service");
  EXPECT_EQ(said(groups_->of_service("postgresql@16-main")),
            "/system.slice/system-postgresql.slice/postgresql@16-main.service");
  EXPECT_NE(said(groups_->of_service("postgresql")).find("there is postgresql@16-main.service"),
            std::string::npos);
  EXPECT_NE(said(groups_->of_service("web")).find("there are several"), std::string::npos);
  EXPECT_NE(said(groups_->of_service("nothing")).find("does the service run?"), std::string::npos);
}

TEST_F(CgroupsTest, Containers) {
  EXPECT_EQ(said(groups_->of_container("aaa")), "/system.slice/docker-" + kOne + ".scope");
  EXPECT_EQ(said(groups_->of_container(kOne)), "/system.slice/docker-" + kOne + ".scope");
  EXPECT_EQ(said(groups_->of_container("ab0")), "/machine.slice/libpod-" + kOther + ".scope");
  EXPECT_EQ(said(groups_->of_container("777777777777")), "/kubepods/burstable/pod12/" + kThird);
  EXPECT_NE(said(groups_->of_container("a")).find("so short an id"), std::string::npos);
  EXPECT_EQ(said(groups_->of_container("web")), "/system.slice/docker-" + kOne + ".scope");
  EXPECT_EQ(said(groups_->of_container("db")), "/machine.slice/libpod-" + kOther + ".scope");
  EXPECT_NE(said(groups_->of_container("x")).find("aaaaaaaaaaaa (web)"), std::string::npos);
  EXPECT_NE(said(groups_->of_container("fff")).find("of this number or name; there are "),
            std::string::npos);
  make("system.slice/docker-" + std::string(10, 'a') + std::string(54, 'b') + ".scope");
  EXPECT_NE(said(groups_->of_container("aaaa")).find("several containers begin so: "),
            std::string::npos);
  EXPECT_EQ(said(groups_->of_container(std::string(11, 'a'))),
            "/system.slice/docker-" + kOne + ".scope");
}

TEST_F(CgroupsTest, ContainersOfProcesses) {
  put(41, "12:pids:/elsewhere\n0::/system.slice/docker-" + kOne + ".scope/init\n");
  put(46,
      "1:name=systemd:/kubepods/burstable/pod12/" + kThird + "\n0::/system.slice/nginx.service\n");
  put(777, "0::/system.slice/nginx.service\n");
  put(42, "0::/\n");
  put(43, "0::/not/to/be/seen\n");
  put(44, "1:name=systemd:/system.slice/nginx.service\n0::/\n");
  EXPECT_EQ(said(groups_->of_container("41")), "/system.slice/docker-" + kOne + ".scope");
  EXPECT_EQ(said(groups_->of_container("46")), "/kubepods/burstable/pod12/" + kThird);
  EXPECT_NE(said(groups_->of_container("777")).find("this is a process, and a container begins so"),
            std::string::npos);
  EXPECT_NE(said(groups_->of_container("42")).find("it is in no container"), std::string::npos);
  EXPECT_NE(said(groups_->of_container("43")).find("not to be seen from here"), std::string::npos);
  EXPECT_EQ(said(groups_->of_process(44)), "/system.slice/nginx.service");
  EXPECT_EQ(groups_->of_process(45).error().errno_value, ESRCH);
}

TEST_F(CgroupsTest, Paths) {
  EXPECT_EQ(said(groups_->by_path("system.slice")), "/system.slice");
  EXPECT_EQ(said(groups_->by_path("/system.slice/nginx.service")), "/system.slice/nginx.service");
  EXPECT_EQ(said(groups_->by_path(root_ + "/system.slice")), "/system.slice");
  EXPECT_NE(said(groups_->by_path("/tmp")).find("it has no cgroup.procs"), std::string::npos);
  EXPECT_NE(said(groups_->by_path("no/such")).find("there is no control group " + root_),
            std::string::npos);
}

TEST_F(CgroupsTest, ProcessesAreThoseOfTheGroupsBelowToo) {
  make("system.slice/nginx.service", "12\n0\n7\n");
  make("system.slice/nginx.service/workers", "9\n12\n");
  Result<std::vector<int>> pids = processes_in_cgroup(root_ + "/system.slice/nginx.service");
  ASSERT_TRUE(pids.ok());
  EXPECT_EQ(*pids, (std::vector<int>{7, 9, 12}));
  EXPECT_EQ(processes_in_cgroup(root_ + "/gone").error().errno_value, ENOENT);
}

TEST(Cgroups, IdsInNames) {
  EXPECT_EQ(Cgroups::container_id("docker-" + kOne + ".scope"), kOne);
  EXPECT_EQ(Cgroups::container_id("cri-containerd-" + kOne + ".scope"), kOne);
  EXPECT_EQ(Cgroups::container_id("crio-" + kOne + ".scope"), kOne);
  EXPECT_EQ(Cgroups::container_id("libpod-" + kOne), kOne);
  EXPECT_EQ(Cgroups::container_id("libpod-conmon-" + kOne), "");
  EXPECT_EQ(Cgroups::container_id(kOne), kOne);
  EXPECT_EQ(Cgroups::container_id("lxc.payload.web"), "web");
  EXPECT_EQ(Cgroups::container_id("libpod-conmon-" + kOne + ".scope"), "");
  EXPECT_EQ(Cgroups::container_id("session-2.scope"), "");
  EXPECT_EQ(Cgroups::container_id("nginx.service"), "");
  EXPECT_EQ(Cgroups::container_id(""), "");
}

TEST(Cgroups, MountsOfVersionTwoComeFirst) {
  EXPECT_EQ(Cgroups::roots_in("19 31 0:37 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw\n"
                              "20 41 0:38 / /a\\040b rw,relatime shared:4 - cgroup2 cgroup2 rw\n"
                              "21 41 0:39 / /proc rw - proc proc rw\nnonsense\n"),
            (std::vector<std::string>{"/a b", "/sys/fs/cgroup/systemd"}));
}

}  // namespace
}  // namespace patchbay::cmd
