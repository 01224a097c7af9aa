// A node in a process that a test can kill.
#pragma once

#include <boost/test/unit_test.hpp>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "node/links/secret.h"

extern char** environ;

namespace troupe::testing {

/// This test program again, as node "child" in a process of its own that a test can kill: the case of `suite`.
class ChildNode {
 public:
  ChildNode(const ClusterSecret& secret, const std::string& bind, std::uint64_t incarnation,
            std::chrono::milliseconds lease = std::chrono::seconds(10), const std::string& suite = "zmq_link_child") {
    const auto [secret_read, secret_write] = make_pipe();
    const auto [address_read, address_write] = make_pipe();
    const auto [life_read, life_write] = make_pipe();
    lifeline_ = life_write;
    for (const int kept : {secret_write, address_read, life_write}) ::fcntl(kept, F_SETFD, FD_CLOEXEC);
    BOOST_REQUIRE(secret.to_descriptor(secret_write).ok());
    ::close(secret_write);

    std::vector<std::string> words{"test",
                                   "--run_test=" + suite,
                                   "--",
                                   bind,
                                   std::to_string(incarnation),
                                   std::to_string(secret_read),
                                   std::to_string(address_write),
                                   std::to_string(life_read),
                                   std::to_string(lease.count())};
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    BOOST_REQUIRE(::posix_spawn(&process_, "/proc/self/exe", nullptr, nullptr, arguments.data(), environ) == 0);
    for (const int childs : {secret_read, address_write, life_read}) ::close(childs);

    char byte = 0;
    pollfd readable{.fd = address_read, .events = POLLIN, .revents = 0};
    while (::poll(&readable, 1, 10'000) == 1 && ::read(address_read, &byte, 1) == 1 && byte != '\n') address_ += byte;
    ::close(address_read);
    BOOST_REQUIRE(!address_.empty());
  }
  ~ChildNode() {
    kill();
    ::close(lifeline_);
  }
  ChildNode(const ChildNode&) = delete;
  ChildNode& operator=(const ChildNode&) = delete;

  void signal(int number) const { BOOST_REQUIRE(::kill(process_, number) == 0); }

  void kill() {
    if (process_ <= 0) return;
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
    process_ = 0;
  }

  [[nodiscard]] const std::string& address() const { return address_; }

 private:
  static std::pair<int, int> make_pipe() {
    std::array<int, 2> ends{};
    BOOST_REQUIRE(::pipe(ends.data()) == 0);
    return {ends[0], ends[1]};
  }

  pid_t process_ = 0;
  int lifeline_ = -1;
  std::string address_;
};

}  // namespace troupe::testing
