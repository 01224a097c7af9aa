#include "node/doctor/host_examiner.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <system_error>

#include "node/doctor/doctor_messages.h"
#include "node/doctor/host_facts.h"

namespace troupe::detail {
namespace {

std::string setting_of(const ListenOrder& order) {
  if (order.port != 0) return fmt::format("cluster.port: cannot use port {}", order.port);
  if (!order.ports.empty()) return fmt::format("cluster.ports: cannot use a port of {}", order.ports);
  return "cannot use any port";
}

}  // namespace

bool HostExaminer::knows(AgentFrameKind kind) {
  return kind == AgentFrameKind::clock || kind == AgentFrameKind::examine || kind == AgentFrameKind::listen ||
         kind == AgentFrameKind::reach;
}

void HostExaminer::obey(const AgentFrame& order) {
  switch (order.kind) {
    case AgentFrameKind::clock: return tell_time();
    case AgentFrameKind::examine: return send_(AgentFrameKind::facts, json_of(gather_facts()));
    case AgentFrameKind::listen: return listen(parse_body<ListenOrder>(order.body));
    case AgentFrameKind::reach: return reach(parse_body<ReachOrder>(order.body));
    default: break;
  }
  throw std::logic_error("[HostExaminer] an order that it does not know");
}

void HostExaminer::add_polled(std::vector<pollfd>& polled) {
  const std::size_t first = polled.size();
  if (listener_) listener_->add_polled(polled);
  first_attempt_ = polled.size() - first;
  if (attempts_) attempts_->add_polled(polled);
}

void HostExaminer::work(std::span<const pollfd> polled) {
  if (listener_) listener_->work();
  if (!attempts_) return;
  attempts_->work(polled.subspan(std::min(first_attempt_, polled.size())), std::chrono::steady_clock::now());
  if (!attempts_->over()) return;
  send_(AgentFrameKind::reached, json_of(attempts_->reached()));
  attempts_.reset();
}

std::optional<HostExaminer::Time> HostExaminer::next_due() const {
  if (!attempts_) return std::nullopt;
  return attempts_->over() ? Time{} : attempts_->next_due();
}

void HostExaminer::tell_time() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  std::string body;
  put_u64(body, static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(now).count()));
  send_(AgentFrameKind::time, body);
}

void HostExaminer::listen(const ListenOrder& order) {
  Listening answer;
  try {
    answer = listener_.emplace(order, variables_, look_up_).listening();
  } catch (const std::invalid_argument& error) {
    answer.problem = error.what();
  } catch (const std::system_error& error) {
    answer.problem = fmt::format("{}: {}", setting_of(order), error.code().message());
  }
  send_(AgentFrameKind::listening, json_of(answer));
}

void HostExaminer::reach(const ReachOrder& order) {
  if (attempts_) throw AgentProtocolError("reach before the end of the last one");
  attempts_.emplace(order, std::chrono::steady_clock::now());
}

}  // namespace troupe::detail
