#include "node/control/control_client.h"

#include <fmt/format.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <fstream>
#include <iterator>
#include <optional>
#include <utility>

namespace troupe {
namespace {

using Clock = std::chrono::steady_clock;
using detail::FileDescriptor;

constexpr std::size_t kAnswerMax = 8 << 20;

/// One open question.
struct Asking {
  ControlAnswer answer;
  FileDescriptor socket;
  bool over = false;
};

void end(Asking& asking, std::string problem) {
  asking.answer.problem = std::move(problem);
  asking.socket.close();
  asking.over = true;
}

void read_some(Asking& asking) {
  std::array<char, 16 * 1024> buffer{};
  const ssize_t size = recv(asking.socket.get(), buffer.data(), buffer.size(), 0);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (size <= 0) return end(asking, asking.answer.text.empty() ? "it closed the connection without an answer" : "");
  asking.answer.text.append(buffer.data(), static_cast<std::size_t>(size));
  if (asking.answer.text.size() > kAnswerMax)
    end(asking, fmt::format("its answer is longer than {} bytes", kAnswerMax));
}

std::string silence(std::chrono::milliseconds patience, pid_t pid) {
  const std::string obstacle = obstacle_of(pid);
  return fmt::format("no answer within {} ms{}{}", patience.count(), obstacle.empty() ? "" : ": ", obstacle);
}

/// Sends the question; nullopt for a process that must not be asked.
std::optional<Asking> begin(const ControlQuestion& question) {
  Asking asking;
  asking.answer.from = question.to;
  asking.socket = detail::connect_to(question.to);
  if (!asking.socket.is_open()) {
    end(asking, errno == ECONNREFUSED ? "no process answers there any more"
                                      : fmt::format("it cannot be asked: {}", strerror(errno)));
    return asking;
  }
  const detail::ControlPeer peer = detail::peer_of(asking.socket);
  if (!detail::may_ask(geteuid(), peer.user)) return std::nullopt;
  asking.answer.pid = peer.pid;
  const std::string line = question.line + "\n";
  if (send(asking.socket.get(), line.data(), line.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(line.size())) {
    end(asking, "it takes no questions");
  }
  return asking;
}

}  // namespace

std::vector<ControlAnswer> ask(const std::vector<ControlQuestion>& questions, std::chrono::milliseconds patience) {
  const Clock::time_point due = Clock::now() + patience;
  std::vector<Asking> all;
  for (const ControlQuestion& question : questions) {
    if (auto asking = begin(question)) all.push_back(*std::move(asking));
  }
  while (true) {
    std::vector<pollfd> polled;
    std::vector<Asking*> waiting;
    for (Asking& asking : all) {
      if (asking.over) continue;
      polled.push_back({asking.socket.get(), POLLIN, 0});
      waiting.push_back(&asking);
    }
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(due - Clock::now());
    if (waiting.empty() || left.count() <= 0) break;
    static_cast<void>(::poll(polled.data(), polled.size(), static_cast<int>(left.count())));
    for (std::size_t i = 0; i < waiting.size(); ++i) {
      if (polled[i].revents != 0) read_some(*waiting[i]);
    }
  }
  std::vector<ControlAnswer> answers;
  for (Asking& asking : all) {
    if (!asking.over) end(asking, silence(patience, asking.answer.pid));
    answers.push_back(std::move(asking.answer));
  }
  return answers;
}

std::string obstacle_of(pid_t pid) {
  if (pid <= 0) return {};
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  return detail::obstacle_in(std::string(std::istreambuf_iterator<char>(file), {}));
}

// "pid (program) state ...", where the program's name may hold anything.
std::string detail::obstacle_in(std::string_view stat) {
  const std::size_t end = stat.rfind(") ");
  if (end == std::string_view::npos || end + 2 >= stat.size()) return {};
  switch (stat[end + 2]) {
    case 'T': return "its process is stopped";
    case 't': return "its process is held by a debugger";
    case 'Z':
    case 'X': return "its process has ended";
    default: return {};
  }
}

}  // namespace troupe
