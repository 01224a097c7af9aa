// What one turn of a router costs, whatever the number of peers: instructions of this program, counted one by one.
//   {"name": "router/turn/256", "unit": "instructions", "median": 5021, "p99": 5034, "n": 15}
// A turn: a word of one peer comes, is handed on and is acknowledged when that is due. The second number of
// "router/turn/2/1000" is that of words to that peer which it has not acknowledged. `--quick` makes fewer turns.
#include <fmt/core.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "actors/core/lives.h"
#include "actors/sessions/packed_message.h"
#include "tests/actors/sessions/no_surroundings.h"
#include "tests/bench/figures.h"

namespace troupe::bench {
namespace {

using namespace std::chrono_literals;
using detail::Router;

const TimePoint kStart{1h};
const Peer kSelf{"self", {1, 1}, "memory://self"};

Peer peer_of(std::size_t number) {
  return {fmt::format("p{}", number), {2, number}, fmt::format("memory://p{}", number)};
}

Parcel word(const NodeName& to) {
  return detail::pack_message({"p0", to + "/references", {}, {}}, msg::RRefForkAck{{"p0", 1}, {"p0", 2}}, {}).value();
}

/// A router with peers, the first of which sends it words.
class World {
 public:
  World(std::size_t peers, std::size_t unacknowledged) : router_(kSelf, callbacks_, lives_) {
    for (std::size_t i = 0; i < peers; ++i) router_.link_up(kStart, peer_of(i));
    for (std::size_t i = 0; i < unacknowledged; ++i) router_.notify(kStart, "p0", {}, word("p0"));
  }

  /// All that comes later takes no part in the turn.
  void prepare() { packet_ = std::move(first_.send(now_, word("self")).value().at(0).frames); }

  void turn() {
    router_.frames(now_, "p0", peer_of(0).incarnation, std::move(packet_));
    now_ += 30ms;  // a word is acknowledged by then
    router_.tick(now_);
    static_cast<void>(router_.next_due());
  }

 private:
  detail::Lives lives_;
  detail::NoCallbacks callbacks_;
  Router router_;
  Session first_{peer_of(0).incarnation, kSelf.incarnation};
  TimePoint now_ = kStart;
  Frames packet_;
};

void check(bool done, const char* what) {
  if (!done) throw std::system_error(errno, std::generic_category(), what);
}

/// In the child: stops before and after each turn that counts.
[[noreturn]] void take_turns(std::size_t peers, std::size_t unacknowledged, int turns) {
  World world(peers, unacknowledged);
  for (int i = 0; i < 100; ++i) world.prepare(), world.turn();
  if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) _exit(1);  // without it nobody would see the stops
  for (int i = 0; i < turns; ++i) {
    world.prepare();
    raise(SIGSTOP);
    world.turn();
    raise(SIGSTOP);
  }
  _exit(0);
}

/// The signal with which the child has stopped; 0: it has ended.
int stop_of(pid_t child) {
  int status = 0;
  check(waitpid(child, &status, 0) == child, "waitpid");
  return WIFSTOPPED(status) ? WSTOPSIG(status) : 0;
}

/// Instructions of each turn, and of what raises the signals, which is the same for all.
std::vector<double> instructions_of_turns(std::size_t peers, std::size_t unacknowledged, int turns) {
  const pid_t child = fork();
  check(child >= 0, "fork");
  if (child == 0) take_turns(peers, unacknowledged, turns);
  std::vector<double> counts;
  while (stop_of(child) == SIGSTOP) {
    std::uint64_t count = 0;
    int signal = 0;
    do {
      check(ptrace(PTRACE_SINGLESTEP, child, nullptr, nullptr) == 0, "ptrace");
      signal = stop_of(child);
      ++count;
    } while (signal == SIGTRAP);
    counts.push_back(static_cast<double>(count));
    check(signal == SIGSTOP && ptrace(PTRACE_CONT, child, nullptr, nullptr) == 0, "ptrace");
  }
  if (static_cast<int>(counts.size()) != turns)
    throw std::runtime_error("the turns ended too early: may this process trace its children?");
  return counts;
}

void measure(int turns) {
  for (const std::size_t peers : {2U, 16U, 256U}) {
    print(fmt::format("router/turn/{}", peers), "instructions", instructions_of_turns(peers, 0, turns));
  }
  print("router/turn/2/1000", "instructions", instructions_of_turns(2, 1000, turns));
}

}  // namespace
}  // namespace troupe::bench

int main(int argc, char** argv) try {
  const bool quick = argc == 2 && std::string_view(argv[1]) == "--quick";
  if (argc > 1 && !quick) {
    std::cerr << "usage: router [--quick]\n";
    return 2;
  }
  troupe::bench::measure(quick ? 3 : 15);
  return 0;
} catch (const std::exception& failure) {
  std::cerr << failure.what() << '\n';
  return 1;
}
