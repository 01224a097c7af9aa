#include "actors/profile/events.h"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <utility>

#include "actors/calls/scope_state.h"
#include "actors/core/node_core.h"
#include "tensor/format.h"
#include "tensor/tensor.h"

namespace troupe::detail {
namespace {

/// The profiler's own functions are not part of any program.
constexpr std::string_view kOwnFunctions = "troupe.recording";

std::int64_t nanoseconds(TimePoint time) { return time.time_since_epoch().count(); }

std::vector<std::uint32_t> indices_of(const CallPath& path) { return {path.indices().begin(), path.indices().end()}; }

void add_to_all(const RecordingList& recordings, const RecordedEvent& event) noexcept {
  for (const auto& each : recordings) {
    if (each->has_ended()) continue;
    try {
      each->add(event);
    } catch (const std::bad_alloc&) {  // of the copy
      each->lose();
    }
  }
}

}  // namespace

struct OpenEvent::State {
  RecordingList recordings;
  std::shared_ptr<NodeCore> node;
  RecordedEvent event;
};

OpenEvent::OpenEvent() noexcept = default;
OpenEvent::OpenEvent(OpenEvent&& other) noexcept = default;
OpenEvent::~OpenEvent() { end(); }

OpenEvent& OpenEvent::operator=(OpenEvent&& other) noexcept {
  end();
  state_ = std::move(other.state_);
  return *this;
}

OpenEvent::OpenEvent(const ScopeState& scope, EventKind kind, std::string_view name) noexcept {
  if (!scope.node->recordings().any() || name.starts_with(kOwnFunctions)) return;
  try {
    begin(scope, {.kind = kind, .name = std::string(name), .path = indices_of(*scope.path)});
  } catch (const std::bad_alloc&) {  // a program goes on without its profile
    scope.node->recordings().lose();
  }
}

OpenEvent OpenEvent::of_call(const ScopeState& scope, std::string_view kind, std::string_view operation,
                             const NodeName& to, std::span<const std::uint32_t> path) noexcept {
  OpenEvent call;
  if (!scope.node->recordings().any() || operation.find(kOwnFunctions) != std::string_view::npos) return call;
  try {
    const std::size_t space = std::min(operation.find(' '), operation.size());
    RecordedEvent event{.kind = EventKind::call, .to = to, .path = {path.begin(), path.end()}};
    event.name = kind.empty() ? operation.substr(0, space) : kind;
    if (space < operation.size()) event.name.append("#").append(operation.substr(space + 1));
    event.name += fmt::format("({} -> {})", scope.node->name(), to);
    call.begin(scope, std::move(event));
  } catch (const std::bad_alloc&) {  // as above
    scope.node->recordings().lose();
  }
  return call;
}

void OpenEvent::begin(const ScopeState& scope, RecordedEvent event) {
  RecordingList recordings = scope.node->recordings().of(scope);
  if (recordings.empty()) return;
  if (scope.context) event.context = scope.context->text();
  event.caller = scope.caller;
  event.begin = nanoseconds(scope.node->clock().now());
  state_ = std::make_unique<State>(std::move(recordings), scope.node, std::move(event));
}

void OpenEvent::end() noexcept {
  const auto ended = std::exchange(state_, nullptr);
  if (!ended) return;
  ended->event.end = nanoseconds(ended->node->clock().now());
  add_to_all(ended->recordings, ended->event);
}

/// Used by its thread only.
class RecordedThread::Watcher final : public ComputeWatcher {
 public:
  Watcher(std::shared_ptr<NodeCore> node, RecordingList recordings, RecordedEvent like)
      : node_(std::move(node)), recordings_(std::move(recordings)), like_(std::move(like)) {}

  [[nodiscard]] Time now() const override { return node_->clock().now(); }

  void computed(std::string_view kernel, Time begin, std::span<const Tensor* const> inputs) noexcept override {
    add(EventKind::kernel, kernel, begin, inputs);
  }
  void went_back(std::string_view operation, Time begin) noexcept override {
    add(EventKind::backward, operation, begin, {});
  }

 private:
  void add(EventKind kind, std::string_view name, Time begin, std::span<const Tensor* const> inputs) noexcept {
    for (const auto& each : recordings_) {
      if (each->has_ended()) continue;
      try {
        RecordedEvent event = like_;
        event.kind = kind;
        event.name = name;
        if (each->options().inputs) {
          for (const Tensor* input : inputs) {
            if (!input->defined()) continue;
            if (!event.inputs.empty()) event.inputs += ", ";
            event.inputs += fmt::format("{} {}", name_of(input->dtype()), to_string(input->shape()));
          }
        }
        event.begin = nanoseconds(begin);
        event.end = nanoseconds(now());
        each->add(std::move(event));
      } catch (const std::bad_alloc&) {
        each->lose();
      }
    }
  }

  const std::shared_ptr<NodeCore> node_;
  const RecordingList recordings_;
  const RecordedEvent like_;  // where its events happen
};

RecordedThread::RecordedThread(const ScopeState& scope) noexcept {
  std::shared_ptr<ComputeWatcher> watcher;
  try {
    if (RecordingList recordings = scope.node->recordings().of(scope); !recordings.empty()) {
      RecordedEvent like{.caller = scope.caller, .path = indices_of(*scope.path)};
      if (scope.context) like.context = scope.context->text();
      watcher = std::make_shared<Watcher>(scope.node, std::move(recordings), std::move(like));
    }
  } catch (const std::bad_alloc&) {  // a program goes on without its profile
    scope.node->recordings().lose();
  }
  guard_.emplace(std::move(watcher));
}

RecordedThread::RecordedThread(const std::shared_ptr<NodeCore>& node, const ContextId& context) noexcept {
  std::shared_ptr<ComputeWatcher> watcher;
  try {
    if (RecordingList recordings = node->recordings().of(context); !recordings.empty())
      watcher = std::make_shared<Watcher>(node, std::move(recordings), RecordedEvent{.context = context.text()});
  } catch (const std::bad_alloc&) {  // as above
    node->recordings().lose();
  }
  guard_.emplace(std::move(watcher));
}

RecordedThread::~RecordedThread() = default;

}  // namespace troupe::detail
