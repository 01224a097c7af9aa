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
#include <deque>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "node/control/control_listener.h"

namespace troupe {
namespace {

using SteadyClock = std::chrono::steady_clock;
constexpr std::size_t kAnswerMax = OpenQuestion::kAnswerMax;

std::string no_answer_within(std::chrono::milliseconds patience) {
  return fmt::format("no answer within {} ms", patience.count());
}

/// A question, once it has begun.
struct Asked {
  bool has_begun = false;
  std::optional<OpenQuestion> question;  ///< none: it has not begun, or its process is another user's
  [[nodiscard]] bool is_under_way() const { return question && !question->is_over(); }
};

/// The questions of one process for one host.
struct HostQuestions {
  std::size_t under_way = 0;
  std::deque<std::size_t> waiting;  ///< their places
};
using ProcessQuestions = std::map<std::string_view, HostQuestions>;

/// Returns the host that comes next; nullptr if all questions have begun, or there is no room.
HostQuestions* next_host(ProcessQuestions& hosts) {
  std::size_t under_way = 0;
  HostQuestions* next = nullptr;
  for (auto& [name, host] : hosts) {
    under_way += host.under_way;
    if (!host.waiting.empty() && (next == nullptr || host.under_way < next->under_way)) next = &host;
  }
  return under_way < detail::ControlListener::kConnectionsMax ? next : nullptr;
}

/// Begins those of `questions` for whose process there is room. `all`: the same questions, in this order.
void begin_some(const std::vector<ControlQuestion>& questions, std::vector<Asked>& all) {
  std::map<ControlName, ProcessQuestions> processes;
  for (std::size_t i = 0; i < all.size(); ++i) {
    HostQuestions& host = processes[questions[i].to][questions[i].host];
    if (all[i].is_under_way()) ++host.under_way;
    if (!all[i].has_begun) host.waiting.push_back(i);
  }
  for (auto& [process, hosts] : processes) {
    while (HostQuestions* const host = next_host(hosts)) {
      const std::size_t i = host->waiting.front();
      host->waiting.pop_front();
      all[i] = {true, OpenQuestion::begin(questions[i])};
      if (all[i].is_under_way()) ++host->under_way;
    }
  }
}

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
  end(no_answer_within(patience) + (obstacle.empty() ? "" : ": " + obstacle));
}

void OpenQuestion::end(std::string problem) {
  answer_.problem = std::move(problem);
  socket_.close();
  over_ = true;
}

std::vector<ControlAnswer> ask(const std::vector<ControlQuestion>& questions, std::chrono::milliseconds patience) {
  const SteadyClock::time_point due = SteadyClock::now() + patience;
  std::vector<Asked> all(questions.size());
  while (true) {
    begin_some(questions, all);
    std::vector<pollfd> polled;
    std::vector<OpenQuestion*> waiting;
    for (Asked& asked : all) {
      if (!asked.is_under_way()) continue;
      polled.push_back({asked.question->descriptor(), POLLIN, 0});
      waiting.push_back(&*asked.question);
    }
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(due - SteadyClock::now());
    if (waiting.empty() || left.count() <= 0) break;
    static_cast<void>(::poll(polled.data(), polled.size(), static_cast<int>(left.count())));
    for (std::size_t i = 0; i < waiting.size(); ++i) {
      if (polled[i].revents != 0) waiting[i]->read_some();
    }
  }
  std::vector<ControlAnswer> answers;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!all[i].has_begun)
      answers.push_back({.from = questions[i].to, .text = {}, .problem = no_answer_within(patience)});
    if (!all[i].question) continue;
    all[i].question->give_up(patience);
    answers.push_back(all[i].question->take_answer());
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
