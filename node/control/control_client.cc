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

using SteadyClock = std::chrono::steady_clock;
constexpr std::size_t kAnswerMax = OpenQuestion::kAnswerMax;

}  // namespace

std::optional<OpenQuestion> OpenQuestion::begin(const ControlQuestion& question) {
  OpenQuestion open;
  open.answer_.from = question.to;
  open.socket_ = detail::connect_to(question.to);
  if (!open.socket_.is_open()) {
    switch (errno) {
      case ECONNREFUSED: open.end(kNobody); break;
      case EAGAIN: open.end(kFull); break;
      default: open.end(fmt::format("it cannot be asked: {}", strerror(errno)));
    }
    return open;
  }
  const detail::ControlPeer peer = detail::peer_of(open.socket_);
  if (!detail::may_ask(geteuid(), peer.user)) return std::nullopt;
  open.answer_.pid = peer.pid;
  open.answer_.user = peer.user;
  const std::string line = question.line + "\n";
  if (send(open.socket_.get(), line.data(), line.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(line.size())) {
    open.end("it takes no questions");
  }
  return open;
}

void OpenQuestion::read_some() {
  std::array<char, 16 * 1024> buffer{};
  const ssize_t size = recv(socket_.get(), buffer.data(), buffer.size(), 0);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (size <= 0) return end(answer_.text.empty() ? "it closed the connection without an answer" : "");
  answer_.text.append(buffer.data(), static_cast<std::size_t>(size));
  if (answer_.text.size() > kAnswerMax) end(fmt::format("its answer is longer than {} bytes", kAnswerMax));
}

void OpenQuestion::give_up(std::chrono::milliseconds patience) {
  if (is_over()) return;
  const std::string obstacle = obstacle_of(answer_.pid);
  end(fmt::format("no answer within {} ms{}{}", patience.count(), obstacle.empty() ? "" : ": ", obstacle));
}

void OpenQuestion::end(std::string problem) {
  answer_.problem = std::move(problem);
  socket_.close();
  over_ = true;
}

std::vector<ControlAnswer> ask(const std::vector<ControlQuestion>& questions, std::chrono::milliseconds patience) {
  const SteadyClock::time_point due = SteadyClock::now() + patience;
  std::vector<OpenQuestion> all;
  for (const ControlQuestion& question : questions) {
    if (auto open = OpenQuestion::begin(question)) all.push_back(*std::move(open));
  }
  while (true) {
    std::vector<pollfd> polled;
    std::vector<OpenQuestion*> waiting;
    for (OpenQuestion& open : all) {
      if (open.is_over()) continue;
      polled.push_back({open.descriptor(), POLLIN, 0});
      waiting.push_back(&open);
    }
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(due - SteadyClock::now());
    if (waiting.empty() || left.count() <= 0) break;
    static_cast<void>(::poll(polled.data(), polled.size(), static_cast<int>(left.count())));
    for (std::size_t i = 0; i < waiting.size(); ++i) {
      if (polled[i].revents != 0) waiting[i]->read_some();
    }
  }
  std::vector<ControlAnswer> answers;
  for (OpenQuestion& open : all) {
    open.give_up(patience);
    answers.push_back(open.take_answer());
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
