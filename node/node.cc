#include "node/node.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <stdexcept>
#include <utility>

#include "actors/core/node_core.h"
#include "actors/membership/membership.h"
#include "actors/references/references.h"
#include "node/optional_parts.h"
#include "node/process_mark.h"

namespace troupe {
namespace {

constexpr std::chrono::seconds kDestructorLimit{2};
constexpr std::chrono::milliseconds kStackPatience{500};

std::shared_ptr<detail::ScopeState> scope_of(std::shared_ptr<detail::NodeCore> core) {
  auto state = std::make_shared<detail::ScopeState>();
  state->call_deadline = core->call_deadline().after();
  state->unlimited = !state->call_deadline;
  state->node = std::move(core);
  return state;
}

/// Returns the parts of a node that lasts as long as this process.
detail::NodeParts marked(detail::NodeParts parts) {
  parts.executor->belong_to(detail::mark_of_this_process());
  return parts;
}

/// Throws if a job of the node calls: `operation` would wait for the end of that job, and the job for it.
void refuse_to_own_job(const detail::NodeCore& core, const char* operation) {
  if (!core.executor().runs_this_thread()) return;
  Error error = core.error(ErrorCode::bad_argument, core.name(), operation,
                           fmt::format("{}() was called by a function, a callback or a handler that {} runs, for whose "
                                       "end it would wait",
                                       operation, core.name()));
  error.hint = "call it on a thread of the program, or call stop(), which ends this node alone";
  error.execution = Execution::never;
  throw RemoteError(std::move(error));
}

void refuse_to_forked_child(const detail::OptionalParts& parts, const detail::NodeCore& core, const char* operation) {
  if (parts.are_of_this_process()) return;
  Error error =
      core.error(ErrorCode::shutting_down, core.name(), operation,
                 fmt::format("the node {} belongs to the process from which this one was forked", core.name()));
  error.execution = Execution::never;
  throw RemoteError(std::move(error));
}

/// After NodeCore::stop, which waits for the end of what may use these.
void end_rest(detail::NodeCore& core, const std::shared_ptr<AuditLog>& audit) {
  if (audit && !audit->close()) spdlog::warn("[{}] the disk does not take the end of the audit log", core.name());
  core.membership().drop_handlers();  // last: one may own the Node
}

}  // namespace

Node::Node(detail::NodeParts parts)
    : Scope(scope_of(detail::NodeCore::start(marked(std::move(parts))))),
      parts_(std::make_unique<detail::OptionalParts>()) {}

Node::Node(Node&& other) noexcept = default;

Node::~Node() {
  if (!shared_state()) return;           // moved from
  if (!parts_->are_of_this_process()) {  // nothing of it can end here: its threads are the parent's
    static_cast<void>(parts_.release());
    static_cast<void>(std::make_unique<std::shared_ptr<detail::ScopeState>>(shared_state()).release());
    return;
  }
  parts_->join_endpoint.reset();
  parts_->control.reset();
  parts_->watchdog.reset();
  if (parts_->audit) parts_->audit->tell_head_now();
  const TimePoint due = core().clock().now() + kDestructorLimit;
  for (const std::string& line : core().stop(due)) spdlog::warn("shutdown did not wait for {}", line);
  end_rest(core(), parts_->audit);
}

std::string Node::address() const { return core().link().address(); }

std::string Node::join_endpoint() const {
  return parts_->join_endpoint ? parts_->join_endpoint->address() : std::string();
}

detail::NodeCounts Node::counts() const { return core().counts(); }

void Node::measure_traffic(bool on) { core().traffic().measure(on); }

void Node::set_device_map(const NodeName& peer, const DeviceMap& map) {
  if (parts_->is_world_final) {
    const auto found = core().membership().info(peer);
    if (!found) throw RemoteError(make_error(ErrorCode::not_joined, "device map: " + found.error().message));
  }
  core().device_maps().add(peer, map);
}

std::vector<Peer> Node::members() const { return core().membership().members(); }

WorkerInfo Node::info() const { return core().membership().info().value(); }

std::vector<WorkerInfo> Node::infos() const { return core().membership().infos(); }

WorkerInfo Node::info(std::string_view name) const { return core().membership().info(NodeName(name)).value(); }

WorkerInfo Node::info(std::int64_t rank) const { return core().membership().info(rank).value(); }

void Node::wait_for_members(std::size_t count, Deadline deadline) const {
  refuse_to_forked_child(*parts_, core(), "wait_for_members");
  if (const auto error = core().membership().wait_for_members(count, due_after(deadline))) throw RemoteError(*error);
}

DebugInfo Node::debug_info() const { return detail::debug_info_of(core()); }

StackInfo Node::stack() const { return detail::stack_of(core(), kStackPatience); }

void Node::on_down(std::function<void(const Peer&, const Error&)> handler) {
  core().membership().on_down(std::move(handler));
}

std::optional<Error> Node::declared_dead() const { return core().membership().declared_dead(); }

void Node::enter(NodePhase phase) const {
  if (parts_->control) parts_->control->enter(phase);
}

void Node::serve() {
  refuse_to_forked_child(*parts_, core(), "serve");
  refuse_to_own_job(core(), "serve");
  enter(NodePhase::serving);
  if (const auto error = core().membership().wait_for_agreement(std::nullopt)) throw RemoteError(*error);
}

std::optional<TimePoint> Node::due_after(Deadline deadline) const {
  const auto limit = deadline.after();
  return limit ? later(core().clock().now(), *limit) : std::nullopt;
}

// Once all have agreed or the core ends, a serve() of another thread returns, and its program may destroy this Node:
// shutdown and stop use copies from then on.

ShutdownReport Node::shutdown(Deadline deadline) {
  ShutdownReport report;
  const std::shared_ptr<detail::NodeCore> core = state().node;
  const std::shared_ptr<AuditLog> audit = parts_->audit;
  refuse_to_forked_child(*parts_, *core, "shutdown");
  if (core->stopped() && !core->failure()) return report;
  refuse_to_own_job(*core, "shutdown");
  enter(NodePhase::leaving);
  if (parts_->join_endpoint) parts_->join_endpoint->stop();
  if (audit) audit->tell_head_now();
  const auto due = due_after(deadline);
  if (const auto error = core->membership().wait_for_agreement(due)) {
    report.waited_for.push_back(error->message);
    for (std::string& line : core->oldest_work()) report.waited_for.push_back(std::move(line));
    spdlog::warn("[{}] shuts down before the others: {}", core->name(), fmt::join(report.waited_for, "; "));
  }
  for (std::string& line : core->stop(due.value_or(core->clock().now() + kDestructorLimit))) {
    report.waited_for.push_back(std::move(line));
  }
  end_rest(*core, audit);
  if (const auto failure = core->failure()) throw RemoteError(*failure);
  // The node's own values are destroyed by now, with what they held: the remaining references are the program's.
  report.leaked = core->references().held();
  if (report.leaked.empty()) return report;
  if (core->leaks() == Leaks::fail) {
    throw std::logic_error(fmt::format("[shutdown] {} still holds {} references: {}", core->name(),
                                       report.leaked.size(), fmt::join(report.leaked, "; ")));
  }
  for (const std::string& line : report.leaked) spdlog::warn("[{}] still held at the end: {}", core->name(), line);
  return report;
}

ShutdownReport Node::stop() {
  refuse_to_forked_child(*parts_, core(), "stop");
  const std::shared_ptr<detail::NodeCore> core = state().node;
  const std::shared_ptr<AuditLog> audit = parts_->audit;
  if (parts_->join_endpoint) parts_->join_endpoint->stop();
  if (audit) audit->tell_head_now();
  ShutdownReport report{core->stop(core->clock().now() + kDestructorLimit), {}};
  end_rest(*core, audit);
  return report;
}

}  // namespace troupe
