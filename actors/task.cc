#include "actors/task.h"

#include <optional>
#include <tuple>

#include "actors/core/node_core.h"
#include "actors/profile/events.h"
#include "actors/scope.h"
#include "autograd/call_path.h"

namespace troupe::detail {
namespace {

void run_part(const TaskPlace& place, std::coroutine_handle<> frame, FrameGuards& guards) {
  std::optional<CallPathGuard> vertices;
  std::optional<RecordedThread> recorded;
  if (place.scope) {
    vertices.emplace(place.scope->path, place.scope->counters->next_vertex);
    recorded.emplace(*place.scope);
  }
  place.turn ? place.turn->run([frame, &guards] { guards.resume(frame); }) : guards.resume(frame);
}

}  // namespace

TaskPlace place_of(const Scope& scope) { return {scope.state().node->future_home(), scope.shared_state(), nullptr}; }

FutureCore::Callbacks resumption_of(std::shared_ptr<const TaskPlace> place, std::coroutine_handle<> frame,
                                    FrameGuards& guards, std::function<void(const Error& why)> refused) {
  return FutureCore::prepared(
      [place = std::move(place), frame, &guards, refused = std::move(refused)](const Error* error) {
        if (error != nullptr) return refused(*error);
        if (!place->turn) return run_part(*place, frame, guards);
        place->turn->take_again([place, frame, &guards, refused] {
          const msg::Priority priority = place->scope ? place->scope->priority : msg::Priority::normal;
          std::ignore = place->home.executor->submit(
              {"task", [place, frame, &guards] { run_part(*place, frame, guards); }, priority, refused});
        });
      });
}

void resume_after(FutureCore& future, const TaskPlace& place, WaitingTurn turn, FutureCore::Callbacks resumption) {
  if (place.turn && turn == WaitingTurn::given_up) place.turn->give_up();
  future.on_done(std::move(resumption));  // cannot fail: others may have the turn
}

}  // namespace troupe::detail
