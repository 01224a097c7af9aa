#include "node/doctor/examined_host.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "node/text_table.h"

namespace troupe::detail {
namespace {

constexpr std::size_t kSaidMax = 4;                       // lines
constexpr std::size_t kAgentLineMax = 1024;               // bytes of what an agent says in a finding
constexpr std::chrono::milliseconds kSilenceMax{40'000};  // an agent ends after 60 s without a word

/// Returns the command as a shell takes it, where this program is `troupe`.
std::string shell_command(const std::vector<std::string>& words) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-";
  std::string command;
  for (const std::string& word : words) {
    if (!command.empty()) command += ' ';
    if (word == "/proc/self/exe") {
      command += "troupe";
      continue;
    }
    if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) {
      command += word;
      continue;
    }
    command += '\'';
    for (const char c : word) command += c == '\'' ? std::string("'\\''") : std::string(1, c);
    command += '\'';
  }
  return command;
}

std::int64_t microseconds_now() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::microseconds>(now).count();
}

HostEvents no_events() {
  return {.output = [](std::size_t, Output, std::string_view) {},
          .lost = [](const LogLoss&) {},
          .ended = [](const std::vector<NodeEnd>&) {},
          .complete = [](std::size_t, OutputEnd) {},
          .answered = [](std::uint64_t, std::string) {}};
}

}  // namespace

RemoteHost::Options ExaminedHost::remote_options(ExaminedHost& self) {
  HostPlan plan;
  plan.name = self.options_.plan.name;
  plan.agent = self.options_.plan.agent;
  const auto say = [&self](std::string_view line) {
    if (self.said_.size() == kSaidMax) self.said_.erase(self.said_.begin());
    self.said_.emplace_back(line);
  };
  return {.plan = std::move(plan),
          .variables = self.options_.variables,
          .lease = std::min(self.options_.patience, kSilenceMax),
          .connect_max = self.options_.patience,
          .version = self.options_.version,
          .say = say,
          .complain = [&self](std::string_view line) { self.complain(line); },
          .take = [&self](const AgentFrame& frame) { return self.take(frame); }};
}

ExaminedHost::ExaminedHost(Options options, const ProcessGuard& guard)
    : options_(std::move(options)), remote_(remote_options(*this), guard, no_events()) {}

ExaminedHost::State ExaminedHost::state() const {
  if (gone_ || remote_.state() == RemoteHost::State::over) return State::gone;
  if (remote_.state() == RemoteHost::State::idle) return State::idle;
  if (remote_.state() == RemoteHost::State::connecting) return State::connecting;
  return awaited_ ? State::asked : State::ready;
}

void ExaminedHost::connect(Time now) {
  connected_ = now;
  remote_.connect(now);
}

void ExaminedHost::note_login() {
  logged_in_ = true;
  add({Mark::ok,
       "login",
       fmt::format("troupe {}, answered in {}", options_.version, shown(welcomed_ - connected_)),
       {}});
}

void ExaminedHost::ask(AgentFrameKind order, std::string_view body, AgentFrameKind answer) {
  awaited_ = answer;
  answer_.reset();
  asked_at_ = microseconds_now();
  remote_.order(order, body);
}

std::optional<AgentFrame> ExaminedHost::take_answer() { return std::exchange(answer_, std::nullopt); }

void ExaminedHost::give_up(std::string seen, std::string hint) {
  if (gone_) return;
  close();
  add({Mark::problem, "agent", std::move(seen), std::move(hint)});
}

void ExaminedHost::close() {
  gone_ = true;
  remote_.close();
}

bool ExaminedHost::take(const AgentFrame& frame) {
  if (frame.kind == AgentFrameKind::pong) return false;
  if (remote_.state() == RemoteHost::State::connecting || frame.kind == AgentFrameKind::welcome) {
    welcomed_ = std::chrono::steady_clock::now();
    return false;
  }
  const bool is_refusal = frame.kind == AgentFrameKind::refused;
  if (!awaited_ || (!is_refusal && frame.kind != *awaited_)) {
    throw AgentProtocolError(fmt::format("a message that answers nothing, {}", static_cast<int>(frame.kind)));
  }
  answered_at_ = microseconds_now();
  awaited_.reset();
  answer_ = frame;
  return true;
}

void ExaminedHost::complain(std::string_view line) {
  if (gone_) return;
  gone_ = true;
  std::string hint = fmt::format("try it: {} < /dev/null", shell_command(options_.plan.agent));
  if (said_.size() > 1) hint += fmt::format("; it said: {}", fmt::join(said_, " / "));
  add({Mark::problem, logged_in_ ? "agent" : "login", std::string(line.substr(0, kAgentLineMax)), std::move(hint)});
}

}  // namespace troupe::detail
